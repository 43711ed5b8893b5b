// Reading a file that is in memory.
package main

import (
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	page  = 4096
	pages = 8192
)

// K goroutines, each of which reads its share of N pages at places that look random.
func fileRead(k, n int) time.Duration {
	runtime.GOMAXPROCS(runtime.NumCPU())
	file, err := os.CreateTemp("", "leno-bench-go-")
	check(err == nil)
	defer os.Remove(file.Name())
	content := make([]byte, page)
	for i := range content {
		content[i] = 7
	}
	for i := 0; i < pages; i++ {
		_, err := file.Write(content)
		check(err == nil)
	}
	var all sync.WaitGroup
	start := time.Now()
	for reader := 0; reader < k; reader++ {
		all.Add(1)
		go func() {
			defer all.Done()
			place, buffer := uint64(88172645463325252+reader), make([]byte, page)
			for i := 0; i < n/k; i++ {
				place ^= place << 13
				place ^= place >> 7
				place ^= place << 17
				_, err := file.ReadAt(buffer, int64(place%pages*page))
				check(err == nil)
			}
		}()
	}
	all.Wait()
	return time.Since(start)
}
