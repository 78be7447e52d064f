package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/example/memcached-operator/olm/e2e/clients"
)

// visitors is how many request the page at the same time.
const visitors = 4

// visit requests the page at url all the time until ctx ends. GET /counts returns the results since the last GET /counts.
func visit(ctx context.Context, listener net.Listener, url string) error {
	var all []clients.Server
	for i := range visitors {
		all = append(all, clients.NewWeb(fmt.Sprintf("visitor %d", i+1), url))
	}
	visiting := clients.StartLoad(all)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { write(w, visiting.Counts()) })
	return errors.Join(serve(ctx, listener, mux), visiting.Stop())
}
