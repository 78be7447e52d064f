package clients

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// Port is memcached's port in the pods of a cache.
const Port = "11211"

// Access is what an application needs to use a cache.
type Access struct {
	// Network looks hosts up. It may be nil if every host is an address.
	Network *Network

	// TLS is the configuration of connections, nil for plain text. The server's certificate must be for the host.
	TLS *tls.Config

	// User and Password are for the login. Without a user there is none.
	User, Password string
}

// Dial connects to host:port, and logs in. It can be gomemcache's DialContext.
func (a Access) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := a.connect(ctx, network, address)
	if err != nil || a.User == "" {
		return conn, err
	}
	// The first request of a connection logs in: a set of any key, with name and password. Nothing follows the answer, so the
	// reader that is dropped here has buffered nothing.
	login := a.User + " " + a.Password
	answer, err := newConn(conn).Command(fmt.Sprintf("set auth 0 0 %d\r\n%s", len(login), login))
	if err == nil && answer != "STORED" {
		err = fmt.Errorf("memcached says %q", answer)
	}
	if err != nil {
		_ = conn.Close() // It is of no use.
		return nil, fmt.Errorf("log in as %s: %w", a.User, err)
	}
	return conn, nil
}

func (a Access) connect(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ip, err := a.Network.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	address = net.JoinHostPort(ip, port)
	if a.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	config := a.TLS.Clone()
	config.ServerName = host
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
}
