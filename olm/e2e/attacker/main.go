// Command attacker is what the end-to-end tests run in the pods of attackers:
//
//	attacker flood HOST:PORT  sends requests that never end, over as many connections as it gets
//	attacker [ARGUMENT...]    runs in the place of memcached, and answers in the place of its agent: whoever asks is sent to another port
//
// In the place of memcached it also listens on port 9152, and says there how often the agent was asked for its state, and how many of the
// requests followed to the other port.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/args"
)

const (
	// floods is how many connections a flood keeps open, and half how many bytes of a request it sends over each: together more than
	// the memory limit of an agent.
	floods = 400
	half   = 512 << 10
	// again is how long it waits after a connection was closed or refused, so that the node has CPU left for the pod that is attacked.
	again = time.Second

	// elsewhere is the port that whoever asks the agent is sent to.
	elsewhere  = 9151
	countsPort = 9152
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == "flood" {
		flood(ctx, os.Args[2])
		return
	}
	if err := answer(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "attacker:", err)
		os.Exit(1)
	}
}

// flood keeps connections to an address open, and requests on them half-sent, until ctx ends.
func flood(ctx context.Context, address string) {
	request := "GET /metrics HTTP/1.1\r\nHost: a\r\nX-Half: " + strings.Repeat("x", half)
	var connections errgroup.Group
	for range floods {
		connections.Go(func() error {
			for ctx.Err() == nil {
				hold(ctx, address, request)
				select {
				case <-ctx.Done():
				case <-time.After(again):
				}
			}
			return nil
		})
	}
	_ = connections.Wait() // They return no error.
}

// hold sends a request, and returns when the other side closes the connection.
func hold(ctx context.Context, address, request string) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err == nil {
		_, _ = conn.Read(make([]byte, 1))
	}
}

// counts are requests.
type counts struct {
	Asked    int64 `json:"asked"`
	Followed int64 `json:"followed"`
}

// answer answers in the place of memcached and its agent until ctx ends.
func answer(ctx context.Context) error {
	var asked, followed atomic.Int64
	servers, ctx := errgroup.WithContext(ctx)
	for port, handler := range map[int]http.HandlerFunc{
		args.Port: http.NotFound,
		api.MetricsPort: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != api.StatePath {
				return // The kubelet's probes.
			}
			asked.Add(1)
			host, _, _ := net.SplitHostPort(r.Host)
			http.Redirect(w, r, fmt.Sprintf("http://%s:%d/", host, elsewhere), http.StatusTemporaryRedirect)
		},
		elsewhere: func(w http.ResponseWriter, _ *http.Request) { followed.Add(1) },
		countsPort: func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(counts{asked.Load(), followed.Load()}) // It fails only if nobody reads it.
		},
	} {
		server := &http.Server{Addr: fmt.Sprintf(":%d", port), Handler: handler, ReadHeaderTimeout: time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		servers.Go(server.ListenAndServe)
	}
	return servers.Wait()
}
