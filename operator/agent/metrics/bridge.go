package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

// dialTimeout is how long connecting to memcached may take. It may have to wait for a reload of certificates.
const dialTimeout = 3 * time.Second

// Bridge is a Unix socket on which memcached needs neither TLS nor a password, and which only this process's user can reach. It
// is for the exporter, which cannot log in. The exporter makes a connection at each scrape (memcached_exporter 0.14.3) and
// leaves it to the garbage collector, so the bridge is open only during a scrape, and then closes the connections.
type Bridge struct {
	listener *net.UnixListener
	dialer   *memcached.Dialer
	logger   *slog.Logger
	scrape   sync.Mutex // One at a time.
	closed   context.Context
	cancel   context.CancelFunc
}

// NewBridge creates the socket in directory, which should be private to this process's user.
func NewBridge(directory string, dialer *memcached.Dialer, logger *slog.Logger) (*Bridge, error) {
	path := filepath.Join(directory, "memcached.sock")
	// An agent that was killed leaves its socket behind.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open a socket for the metrics; is the directory writable, and its path below 90 bytes? %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("protect the socket: %w", err)
	}
	b := &Bridge{listener: listener, dialer: dialer, logger: logger}
	b.closed, b.cancel = context.WithCancel(context.Background())
	return b, nil
}

// Address is the path of the socket.
func (b *Bridge) Address() string {
	return b.listener.Addr().String()
}

// Close removes the socket and closes all connections.
func (b *Bridge) Close() {
	b.cancel()
	_ = b.listener.Close()
}

// Serve serves clients of the socket while use runs, and then closes the connections that they left open: each is one that
// memcached's own clients lack.
func (b *Bridge) Serve(use func()) {
	b.scrape.Lock()
	defer b.scrape.Unlock()
	ctx, cancel := context.WithCancel(b.closed)
	var clients sync.WaitGroup
	defer func() {
		cancel()
		_ = b.listener.SetDeadline(time.Unix(1, 0)) // Ends Accept.
		clients.Wait()
	}()
	_ = b.listener.SetDeadline(time.Time{}) // A closed listener fails in Accept.
	clients.Go(func() {
		for {
			client, err := b.listener.Accept()
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
				return
			case err != nil:
				b.logger.Warn("The exporter of metrics cannot connect to the agent", "error", err)
				return
			}
			clients.Go(func() { b.pass(ctx, client) })
		}
	})
	use()
}

// pass passes bytes between one client and memcached until one of them closes its connection, memcached has said more than the answers to
// the exporter take, or ctx ends.
func (b *Bridge) pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	server, err := b.dialer.Dial(dialing)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			b.logger.Warn("Cannot reach memcached for its metrics", "error", err)
		}
		return
	}
	closeBoth := func() { _, _ = client.Close(), server.Close() }
	defer context.AfterFunc(ctx, closeBoth)()
	var answers sync.WaitGroup
	answers.Go(func() {
		defer closeBoth()
		// It ends with an error if a side closes its connection.
		_, _ = io.Copy(client, io.LimitReader(server, memcached.MaxAnswer))
	})
	_, _ = io.Copy(server.Conn, client)
	closeBoth()
	answers.Wait()
}
