// Messages over channels, selects and timers.
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// N hops of a token round a ring of K goroutines; on two threads if `two`.
func ring(two bool) func(k, n int) time.Duration {
	return func(k, n int) time.Duration {
		threads(two)
		into := make(chan int)
		from := into
		for i := 1; i < k; i++ {
			from = link(from)
		}
		token := 0
		laps := func(n int) {
			for i := 0; i < n; i++ {
				into <- token
				token = <-from
			}
		}
		warm := n/k/10 + 1
		laps(warm)
		start := time.Now()
		laps(n / k)
		took := time.Since(start)
		check(token == (n/k+warm)*(k-1))
		return took
	}
}

// N hops of messages down a chain of K goroutines.
func chain(k, n int) time.Duration {
	messages := n / (k + 1)
	into := make(chan int)
	from := into
	for i := 0; i < k; i++ {
		from = link(from)
	}
	return passed(into, from, messages, k)
}

// N messages from one thread to another through a channel with room for K.
func stream(k, n int) time.Duration {
	threads(true)
	through := make(chan int, k)
	return passed(through, through, n, 0)
}

// A sink receives what a source sends, after a first message has shown that all have started.
func passed(into chan<- int, from <-chan int, messages, links int) time.Duration {
	done := make(chan int)
	go func() {
		done <- <-from
		sum := 0
		for i := 0; i < messages; i++ {
			sum += <-from
		}
		done <- sum
	}()
	into <- 0
	<-done
	start := time.Now()
	for i := 0; i < messages; i++ {
		into <- i
	}
	sum := <-done
	took := time.Since(start)
	check(sum == messages*(messages-1)/2+messages*links)
	return took
}

// Passes on what it receives, plus one.
func link(from <-chan int) chan int {
	to := make(chan int)
	go func() {
		for v := range from {
			to <- v + 1
		}
	}()
	return to
}

// N messages of K senders, K being 8, to one that selects.
func selects(k, n int) time.Duration {
	check(k == 8)
	var c [8]chan int
	for i := range c {
		c[i] = make(chan int)
		go func() {
			for v := 1; v <= n/8; v++ {
				c[i] <- v
			}
		}()
	}
	start := time.Now()
	sum := 0
	for i := 0; i < n; i++ {
		select {
		case v := <-c[0]:
			sum += v
		case v := <-c[1]:
			sum += v
		case v := <-c[2]:
			sum += v
		case v := <-c[3]:
			sum += v
		case v := <-c[4]:
			sum += v
		case v := <-c[5]:
			sum += v
		case v := <-c[6]:
			sum += v
		case v := <-c[7]:
			sum += v
		}
	}
	took := time.Since(start)
	each := n / 8
	check(sum == 8*each*(each+1)/2)
	return took
}

// N timers armed, about an hour ahead, then stopped.
func timers(_, n int) time.Duration {
	batch := func(n int) {
		all := make([]*time.Timer, n)
		for i := range all {
			all[i] = time.AfterFunc(time.Hour+time.Duration(i%1000)*time.Millisecond, func() {})
		}
		for _, one := range all {
			check(one.Stop())
		}
	}
	batch(n/10 + 1)
	start := time.Now()
	batch(n)
	return time.Since(start)
}

// N messages, each received with a limit of an hour.
func timeout(_, n int) time.Duration {
	c := make(chan int)
	go func() {
		for i := 0; ; i++ {
			c <- i
		}
	}()
	receive := func(n int) {
		for i := 0; i < n; i++ {
			select {
			case <-c:
			case <-time.After(time.Hour):
				check(false)
			}
		}
	}
	receive(n/10 + 1)
	start := time.Now()
	receive(n)
	return time.Since(start)
}

func threads(two bool) {
	if two {
		runtime.GOMAXPROCS(2)
	}
}

func check(right bool) {
	if !right {
		fmt.Fprintln(os.Stderr, "a message was lost, doubled or changed")
		os.Exit(1)
	}
}
