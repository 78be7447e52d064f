// Command webapp is a small web application that uses caches the way an Application of this operator hands them to it.
// The end-to-end tests run it, and it shows how little a program has to do for that:
//
//	GET /         counts the visit in the caches of MEMCACHED_SERVERS; without one, or when none answers, it says so
//	GET /binding  what the directories below SERVICE_BINDING_ROOT hold, one for each cache
//
// Whatever becomes of its caches, it answers with status 200: a cache makes an application faster, and is nothing that
// it may fail without. On SIGTERM it ends what it is doing and then stops.
//
// Started as `webapp visit URL` it is a visitor instead: it asks for that page all the time, from where it is, and tells
// at GET /counts how that went.
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
	// defaultAddress is where it listens unless LISTEN says otherwise.
	defaultAddress = ":8080"
	// grace is how long requests may take to end after SIGTERM; Kubernetes gives 30 s by default.
	grace = 20 * time.Second
	// headerTimeout is how long a client may take to say what it wants.
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
	if len(args) != 0 && (len(args) != 2 || args[0] != "visit") {
		return errors.New("usage: webapp, or webapp visit URL")
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
	if len(args) > 0 {
		return visit(ctx, listener, args[1])
	}
	pod, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("read the name of the pod: %w", err)
	}
	s := site{
		pod: pod, greeting: os.Getenv("GREETING"), bindings: os.Getenv("SERVICE_BINDING_ROOT"),
		counter: newCounter(servers(os.Getenv("MEMCACHED_SERVERS"))),
	}
	return serve(ctx, listener, s.handler())
}

// servers splits a list of host:port.
func servers(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// serve answers requests until ctx ends, and then those that are under way.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return fmt.Errorf("end the requests under way within %s: %w", grace, err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
