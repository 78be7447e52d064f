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

// dialTimeout is how long a client waits for the connection to memcached.
const dialTimeout = 3 * time.Second

// Bridge passes bytes between clients of its socket and memcached.
type Bridge struct {
	listener net.Listener
	dialer   *memcached.Dialer
	logger   *slog.Logger

	lent  sync.Mutex // While somebody uses the bridge.
	mutex sync.Mutex // Of what follows.
	ends  map[net.Conn]context.CancelFunc
}

// Listen opens the socket in directory, which should be private to this process's user. It has no client before Serve.
func Listen(directory string, dialer *memcached.Dialer, logger *slog.Logger) (*Bridge, error) {
	path := filepath.Join(directory, "memcached.sock")
	// One that an agent left behind when it was killed would be in the way.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open a socket for the metrics; is the directory writable, and its path below 90 bytes? %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("protect the socket: %w", err)
	}
	return &Bridge{listener: listener, dialer: dialer, logger: logger, ends: map[net.Conn]context.CancelFunc{}}, nil
}

// Address is the path of the socket.
func (b *Bridge) Address() string {
	return b.listener.Addr().String()
}

// Lend calls use, whose connections are the only ones meanwhile, and then closes those that it left open: each of them is
// one that memcached's clients lack.
func (b *Bridge) Lend(use func()) {
	b.lent.Lock()
	defer b.lent.Unlock()
	defer b.hangUp()
	use()
}

// hangUp ends all connections.
func (b *Bridge) hangUp() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, end := range b.ends {
		end()
	}
}

// keep notes how to end the connection of a client, until what it returns is called.
func (b *Bridge) keep(client net.Conn, end context.CancelFunc) (forget func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ends[client] = end
	return func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		delete(b.ends, client)
	}
}

// Serve serves until ctx ends. Then it removes the socket, and closes the connections before it returns.
func (b *Bridge) Serve(ctx context.Context) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = b.listener.Close() })
	for {
		client, err := b.listener.Accept()
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("accept on the socket for the metrics: %w", err)
		}
		clients.Go(func() { b.pass(ctx, client) })
	}
}

// pass serves one client until one of the sides is done.
func (b *Bridge) pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer b.keep(client, end)()
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	server, err := b.dialer.Dial(dialing)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			b.logger.Warn("Cannot reach memcached for its metrics", "error", err)
		}
		return
	}
	both := func() { _, _ = client.Close(), server.Close() }
	defer both()
	defer context.AfterFunc(ctx, both)()
	var answers sync.WaitGroup
	answers.Go(func() {
		defer both()
		_, _ = io.Copy(client, server) // It ends because a side hung up.
	})
	_, _ = io.Copy(server.Conn, client)
	both()
	answers.Wait()
}
