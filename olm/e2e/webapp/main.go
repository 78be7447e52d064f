// Command webapp is a small web application that uses caches as an Application of this operator gets them. The end-to-end tests
// run it, and it is a sample of what a program has to do:
//
//	GET /         counts the visit in the caches of MEMCACHED_SERVERS, or says why it cannot
//	GET /binding  returns the entries in the directories below SERVICE_BINDING_ROOT, one directory for each cache
//
// It answers with status 200 even without caches: an application must not fail without its cache. On SIGTERM it completes the
// requests under way and then stops.
//
// Started as `webapp visit URL` it is a visitor instead: it requests that page all the time, and returns the results at
// GET /counts. `webapp use ADDRESSES` does the same with memcacheds, by their IP addresses with ports.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	// defaultAddress is where it listens unless LISTEN is set.
	defaultAddress = ":8080"
	// grace is how long requests may take to end after SIGTERM; Kubernetes gives 30 s by default.
	grace = 20 * time.Second
	// headerTimeout is how long a client may take to send the header of a request.
	headerTimeout = 10 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "webapp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	visits, uses := len(args) == 2 && args[0] == "visit", len(args) > 1 && args[0] == "use"
	if len(args) > 0 && !visits && !uses {
		return errors.New("usage: webapp, webapp visit URL, or webapp use ADDRESSES")
	}
	address := os.Getenv("LISTEN")
	if address == "" {
		address = defaultAddress
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s (LISTEN): %w", address, err)
	}
	fmt.Fprintln(os.Stderr, "webapp: listening on", listener.Addr())
	switch {
	case visits:
		return visit(ctx, listener, args[1])
	case uses:
		return use(ctx, listener, args[1:])
	}
	pod, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("read the name of the pod: %w", err)
	}
	s := site{pod: pod, bindings: os.Getenv("SERVICE_BINDING_ROOT"), counter: newCounter(servers(os.Getenv("MEMCACHED_SERVERS")))}
	return serve(ctx, listener, s.handler())
}

// servers splits a list of host:port.
func servers(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// serve answers requests until ctx ends. Then it completes the requests under way.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		ended <- server.Shutdown(ending)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("end the requests under way within %s: %w", grace, err)
	}
	return nil
}
