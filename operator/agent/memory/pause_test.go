package memory

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
)

// A memcached that takes longer to answer than the time between two attempts is not asked again at once.
func TestAttemptsToReleaseMemoryLeaveAPause(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const attempts = 10
	pauses := make(chan time.Duration, attempts)
	go func() {
		defer close(pauses)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		answered := time.Time{}
		for lines := bufio.NewScanner(conn); lines.Scan() && len(pauses) < attempts; {
			if strings.HasPrefix(lines.Text(), "slabs reassign") {
				time.Sleep(2 * releaseInterval) //nolint:forbidigo // This is how long the answer takes.
				answered = time.Now()
				_, _ = fmt.Fprint(conn, "BUSY currently processing reassign request\r\n")
				continue
			}
			if !answered.IsZero() {
				pauses <- time.Since(answered)
			}
			_, _ = fmt.Fprint(conn, "STAT 1:total_pages 9\r\nEND\r\n")
		}
	}()
	conn, err := memcached.NewDialer(listener.Addr().String(), &api.Certificates{}, &api.Users{}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := release(t.Context(), conn, 1); err == nil {
		t.Error("memory was released")
	}
	for pause := range pauses {
		if pause < releaseInterval*9/10 {
			t.Errorf("the next attempt began %s after the last one, want %s", pause, releaseInterval)
		}
	}
}
