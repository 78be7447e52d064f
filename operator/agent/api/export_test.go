package api

import (
	"context"
	"net"
	"net/http"
)

// FetchOver is Fetch over the connections that dial makes.
func FetchOver(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string) (*State, error) {
	transport := agents.Transport.(*http.Transport).Clone()
	transport.DialContext = dial
	return fetch(ctx, &http.Client{CheckRedirect: agents.CheckRedirect, Transport: transport}, address)
}
