package testing

import (
	"net"
	"testing"
)

// Answer listens at an address until the end of the test, and calls answer for each connection, which is closed afterwards. It returns the
// address.
func Answer(t testing.TB, network, address string, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return listener.Addr().String()
}
