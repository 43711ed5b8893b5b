// The Go peer: goroutines on one thread (GOMAXPROCS 1), as all contenders run on one.
//
//	hop resume 1 N    N round trips between two goroutines over unbuffered channels
//	hop hop K N       N hops in a ring of K goroutines that call runtime.Gosched
//	hop create 1 N    N goroutines created, run to their end and waited for
//	hop BENCH K N     those of messages.go; ring-2 and stream run on two threads
//	hop file-read 16 N  N reads of a page by 16 goroutines, on all processors
//	hop SERVER K N    those of sockets.go and http.go; SERVER-cores has all processors
//
// Prints `BENCH NS VERSION`.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: hop BENCH K N")
		os.Exit(2)
	}
	k, n := number(os.Args[2]), number(os.Args[3])
	runtime.GOMAXPROCS(1)
	benches := map[string]func(k, n int) time.Duration{
		"resume": resume, "hop": hop, "create": create,
		"ring": ring(false), "ring-2": ring(true), "chain": chain, "stream": stream,
		"select": selects, "timers": timers, "timeout": timeout, "file-read": fileRead,
	}
	if os.Args[1] == "http" {
		serveHttp()
		return
	}
	server, hasAll := strings.CutSuffix(os.Args[1], "-cores")
	if serve := servers[server]; serve != nil {
		if hasAll {
			runtime.GOMAXPROCS(runtime.NumCPU())
		}
		listen(serve, k)
		return
	}
	bench := benches[os.Args[1]]
	if bench == nil {
		fmt.Fprintln(os.Stderr, "unknown bench", os.Args[1])
		os.Exit(2)
	}
	took := bench(k, n)
	fmt.Printf("%s %.3f %s\n", os.Args[1], float64(took.Nanoseconds())/float64(n), runtime.Version())
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		fmt.Fprintln(os.Stderr, "not a count:", text)
		os.Exit(2)
	}
	return value
}

func resume(_, n int) time.Duration {
	in, out := make(chan int), make(chan int)
	go func() {
		for v := range in {
			out <- v + 1
		}
	}()
	v := 0
	roundTrips := func(n int) {
		for i := 0; i < n; i++ {
			in <- v
			v = <-out
		}
	}
	roundTrips(n/10 + 1)
	start := time.Now()
	roundTrips(n)
	return time.Since(start)
}

// Members wait until all have started, make their rounds, wait until all have made theirs: the
// clock runs from the last start to the last end.
func hop(k, n int) time.Duration {
	rounds := n / k
	var all sync.WaitGroup
	var start, end time.Time
	arrived, finished := 0, 0 // One thread runs all goroutines, and none is preempted in between.
	all.Add(k)
	for i := 0; i < k; i++ {
		go func() {
			defer all.Done()
			if arrived++; arrived == k {
				start = time.Now()
			}
			for start.IsZero() {
				runtime.Gosched()
			}
			for r := 0; r < rounds; r++ {
				runtime.Gosched()
			}
			if finished++; finished == k {
				end = time.Now()
			}
			for end.IsZero() {
				runtime.Gosched()
			}
		}()
	}
	all.Wait()
	return end.Sub(start)
}

func create(_, n int) time.Duration {
	done := make(chan int)
	batch := func(n int) {
		for i := 0; i < n; i++ {
			go func() { done <- i + 1 }()
			<-done
		}
	}
	batch(n/10 + 1)
	start := time.Now()
	batch(n)
	return time.Since(start)
}
