// Servers under somebody else's load.
package main

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
)

var servers = map[string]func(net.Conn){"echo": echo, "greet": greet}

// Prints the port, serves k connections, and ends when they have.
func listen(serve func(net.Conn), k int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err == nil)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	fmt.Println(runtime.Version())
	var all sync.WaitGroup
	for i := 0; i < k; i++ {
		connection, err := listener.Accept()
		check(err == nil)
		all.Add(1)
		go func() {
			serve(connection)
			connection.Close()
			all.Done()
		}()
	}
	all.Wait()
}

// Sends back what comes.
func echo(connection net.Conn) {
	buffer := make([]byte, 1024)
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:count]); err != nil {
			return
		}
	}
}

// Sends a byte, and waits for the end.
func greet(connection net.Conn) {
	connection.Write([]byte{1})
	io.Copy(io.Discard, connection)
}
