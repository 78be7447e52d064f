package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The ports of FreeAddress: Linux gives none of them to who asks for any port, as connections and many tests do, and
// Kubernetes uses none of them.
const (
	firstPort = 20_000
	ports     = 10_000
)

// FreeAddress returns an address of loopback on which nothing listens, for who cannot listen on a port of the kernel's choice.
// It is likely to stay free until then: tests that run meanwhile, in other processes as well, choose another at random.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var failure error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			_ = listener.Close() // Nobody has connected.
			return address
		}
		failure = err
	}
	t.Fatalf("find a free port: %v", failure)
	return ""
}
