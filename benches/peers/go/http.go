// An HTTP server under somebody else's load.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
)

// Prints the port, and serves until it is asked for /stop.
func serveHttp() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err == nil)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	fmt.Println(runtime.Version())
	ended := make(chan struct{})
	server := &http.Server{}
	hello := func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set("content-length", "6")
		io.WriteString(answer, "hello\n")
	}
	http.HandleFunc("/", hello)
	http.HandleFunc("/stop", func(answer http.ResponseWriter, request *http.Request) {
		hello(answer, request)
		go func() {
			server.Shutdown(context.Background())
			close(ended)
		}()
	})
	server.Serve(listener)
	<-ended
}
