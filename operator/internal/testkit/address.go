package testkit

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
)

// The ports of FreeAddress: Linux gives none of them to who asks for any port, as connections and many tests do, and
// Kubernetes uses none of them.
const (
	firstPort = 20_000
	ports     = 10_000
)

// FreeAddress returns an address of loopback on which nothing listens, for who cannot listen on a port of the kernel's choice, or listens
// more than once. Until the end of the test, FreeAddress does not return it again, not even to another process.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, release, err := ReserveAddress()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}

// ReserveAddress returns what FreeAddress returns, until release is called.
func ReserveAddress() (address string, release func(), err error) {
	for range 100 {
		port := firstPort + rand.IntN(ports)
		if release, err = reserve(port); err == nil {
			return fmt.Sprintf("127.0.0.1:%d", port), release, nil
		}
	}
	return "", nil, fmt.Errorf("find a free port: %w", err)
}

// reserve binds a socket to a port of loopback that no other socket is bound to. It does not listen, so connections are refused, and servers
// can listen on the port all the same: Linux lets those who set SO_REUSEADDR share a port, as servers do, if at most one of them listens.
func reserve(port int) (release func(), err error) {
	syscall.ForkLock.RLock() // No process that is started meanwhile inherits the socket.
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	release = func() { _ = syscall.Close(socket) }
	// Only now may the port be shared: the bind has to fail if anybody has it.
	err = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port})
	if err == nil {
		err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("reserve port %d: %w", port, err)
	}
	return release, nil
}
