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
	return load(ctx, listener, all)
}

// use does the same with the memcacheds at these addresses (host:port): each request is on a new connection.
func use(ctx context.Context, listener net.Listener, addresses []string) error {
	var all []clients.Server
	for _, address := range addresses {
		all = append(all, clients.NewService(address, address, clients.Access{}))
	}
	return load(ctx, listener, all)
}

func load(ctx context.Context, listener net.Listener, servers []clients.Server) error {
	requesting := clients.StartLoad(servers)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { write(w, requesting.Counts()) })
	return errors.Join(serve(ctx, listener, mux), requesting.Stop())
}
