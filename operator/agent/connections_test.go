package agent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
)

// acceptAll returns the address of a limitedListener, and a channel of the connections that it accepts.
func acceptAll(t *testing.T) (*limitedListener, <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited, accepted := &limitedListener{Listener: listener}, make(chan net.Conn)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := limited.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	return limited, accepted
}

// openAt returns how many connections of a listener are open.
func openAt(listener *limitedListener) int {
	listener.mutex.Lock()
	defer listener.mutex.Unlock()
	return len(listener.open)
}

// closed reports whether the other side has closed a connection.
func closed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestConnectionsAreLimited(t *testing.T) {
	listener, accepted := acceptAll(t)
	var crowd []net.Conn
	dial := func(from string) net.Conn {
		conn := connect(t, from, listener.Addr().String(), "")
		<-accepted
		return conn
	}
	expect := func(what string, conns []net.Conn, want bool) {
		t.Helper()
		for i, conn := range conns {
			if closed(conn) != want {
				t.Fatalf("%s: connection %d is closed: %t, want %t", what, i, !want, want)
			}
		}
	}
	kubelet := dial("127.0.0.1")
	for range 40 {
		crowd = append(crowd, dial("127.0.0.2"))
	}
	expect("the oldest ones of an address that has too many", crowd[:8], true)
	expect("the others", append(crowd[8:], kubelet), false)

	for i := range 1000 {
		dial(fmt.Sprintf("127.0.1.%d", i%10))
	}
	if n := openAt(listener); n != maxConnections {
		t.Errorf("%d connections are open", n)
	}
	expect("one of an address that has few, among addresses that have many", []net.Conn{kubelet, dial("127.0.0.3")}, false)
}

func TestAConnectionThatIsClosedCountsNoMore(t *testing.T) {
	listener, accepted := acceptAll(t)
	for range 2 * maxOfAddress {
		connect(t, "127.0.0.2", listener.Addr().String(), "")
		_ = (<-accepted).Close()
	}
	if n := openAt(listener); n != 0 {
		t.Errorf("%d connections count as open", n)
	}
}
