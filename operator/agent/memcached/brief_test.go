package memcached_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

func TestBriefLeavesOutWhatChanges(t *testing.T) {
	address := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port} }
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	expired := x509.CertificateInvalidError{
		Cert: &x509.Certificate{NotBefore: day, NotAfter: day.Add(24 * time.Hour)}, Reason: x509.Expired,
		Detail: "current time " + time.Now().String() + " is after it",
	}
	for want, err := range map[string]error{
		"ask memcached: connection reset": fmt.Errorf("ask memcached: %w", &net.OpError{
			Op: "read", Net: "tcp", Source: address(40001), Addr: address(11211), Err: errors.New("connection reset")}),
		"ask memcached: no answer in time": fmt.Errorf("ask memcached: %w", &net.OpError{
			Op: "read", Net: "tcp", Source: address(40001), Addr: address(11211), Err: os.ErrDeadlineExceeded}),
		"speak TLS: no answer in time": fmt.Errorf("speak TLS: %w", context.DeadlineExceeded),
		"speak TLS: tls: failed to verify certificate: the certificate is valid only from 2026-01-02T03:04:05Z to 2026-01-03T03:04:05Z": fmt.Errorf(
			"speak TLS: %w", &tls.CertificateVerificationError{Err: expired}),
		"nothing of that kind": errors.New("nothing of that kind"),
	} {
		if got := memcached.Brief(err); got != want {
			t.Errorf("%q is brief for %q, want %q", got, err, want)
		}
	}
}
