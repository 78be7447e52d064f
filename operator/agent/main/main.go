// Command main is the agent, which runs beside each memcached (package agent). It is a program of its own, which the operator's replaces
// itself by: its memory is needed once for each pod, and the operator's, with all that speaks to Kubernetes, would take four times as much.
// So nothing of Kubernetes is linked here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/example/memcached-operator/operator/agent"
)

const (
	// processors is how many goroutines run at the same time. Go keeps memory for each, and the container's limit is half a CPU anyway.
	processors = 1

	// garbage is how much the heap may grow, in percent of what is in use, before garbage is collected.
	garbage = 10
)

func main() {
	runtime.GOMAXPROCS(processors)
	debug.SetGCPercent(garbage)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // Another signal ends the process at once.
	err := agent.Run(ctx, os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "memcached-operator:", err)
		os.Exit(1)
	}
}
