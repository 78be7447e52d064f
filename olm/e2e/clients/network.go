package clients

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Network looks names up as pods do.
type Network struct {
	// Config is the content of their /etc/resolv.conf.
	Config string

	search   []string
	resolver *net.Resolver
}

// NewNetwork takes the content of /etc/resolv.conf in a pod. Its name server must be reachable from this machine.
func NewNetwork(config string) (*Network, error) {
	n := &Network{Config: config}
	server := ""
	for line := range strings.Lines(config) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "nameserver" && server == "":
			server = net.JoinHostPort(words[1], "53")
		case words[0] == "search":
			n.search = words[1:]
		}
	}
	if server == "" || len(n.search) == 0 {
		return nil, fmt.Errorf("there is no nameserver, or nothing to search, in:\n%s", config)
	}
	n.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, server)
	}}
	return n, nil
}

// Lookup returns the first address of a host, as a pod finds it: it appends each of the pod's search domains in turn. It
// returns an address unchanged.
func (n *Network) Lookup(ctx context.Context, host string) (string, error) {
	if net.ParseIP(host) != nil {
		return host, nil
	}
	if n == nil {
		return "", fmt.Errorf("look up %s: there is no network to look it up in", host)
	}
	var failed []error
	for _, domain := range n.search {
		addresses, err := n.resolver.LookupHost(ctx, host+"."+domain+".")
		if err == nil {
			return addresses[0], nil
		}
		failed = append(failed, err)
	}
	return "", fmt.Errorf("look up %s: %w", host, errors.Join(failed...))
}
