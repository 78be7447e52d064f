package testkit

import (
	"net"
	"strconv"
	"testing"
)

// Who stops listening, to listen again later, finds that nobody else has taken the address.
func TestAFreeAddressIsNotGivenTwice(t *testing.T) {
	address := FreeAddress(t)
	_, number, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	taken := func() {
		t.Helper()
		if release, err := reserve(port); err == nil {
			release()
			t.Error("it could be taken")
		}
	}
	taken()
	for range 2 {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		taken()
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		taken()
	}
	if connection, err := net.Dial("tcp", address); err == nil {
		_ = connection.Close()
		t.Error("somebody listens")
	}
}
