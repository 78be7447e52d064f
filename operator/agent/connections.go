package agent

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxConnections is how many connections are open at the same time, and maxOfAddress how many of them are from one address.
	// The kubelet, Prometheus and the operator need one or two each.
	maxConnections = 256
	maxOfAddress   = 32

	// bufferSize is how many bytes the kernel may keep in each direction of a connection, before it doubles that. Without a limit
	// it keeps up to some MiB, which count as the agent's memory.
	bufferSize = 32 << 10
)

// limitedListener limits how many connections are open. A new one is never turned away, because it may be the kubelet's: the oldest
// one of its address is closed instead, or the oldest one of the address that has most.
type limitedListener struct {
	net.Listener
	mutex sync.Mutex
	open  []*limitedConn // The oldest first.
}

// limitedConn is a connection of a limitedListener.
type limitedConn struct {
	net.Conn
	from     netip.Addr
	listener *limitedListener
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	accepted := &limitedConn{Conn: conn, listener: l}
	if tcp, ok := conn.(*net.TCPConn); ok {
		accepted.from = tcp.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		_, _ = tcp.SetReadBuffer(bufferSize), tcp.SetWriteBuffer(bufferSize)
	}
	if displaced := l.add(accepted); displaced != nil {
		_ = displaced.Conn.Close() // Who uses it gets an error.
	}
	return accepted, nil
}

// add adds a connection, and returns the one that has to be closed for it, nil if there are few.
func (l *limitedListener) add(accepted *limitedConn) (displaced *limitedConn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts := map[netip.Addr]int{}
	for _, c := range l.open {
		counts[c.from]++
	}
	oldest := -1
	switch {
	case counts[accepted.from] >= maxOfAddress:
		oldest = slices.IndexFunc(l.open, func(c *limitedConn) bool { return c.from == accepted.from })
	case len(l.open) >= maxConnections:
		most := slices.Max(slices.Collect(maps.Values(counts)))
		oldest = slices.IndexFunc(l.open, func(c *limitedConn) bool { return counts[c.from] == most })
	}
	if oldest >= 0 {
		displaced = l.open[oldest]
		l.open = slices.Delete(l.open, oldest, oldest+1)
	}
	l.open = append(l.open, accepted)
	return displaced
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.listener.mutex.Lock()
	if i := slices.Index(c.listener.open, c); i >= 0 {
		c.listener.open = slices.Delete(c.listener.open, i, i+1)
	}
	c.listener.mutex.Unlock()
	return c.Conn.Close()
}
