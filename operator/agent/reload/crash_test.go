package reload_test

import (
	"context"
	"sync"
	"syscall"
	"testing"

	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// BenchmarkReloadsWhileOthersConnect measures how often memcached crashes when it reads its certificates while clients that show
// certificates only connect. The agent's own connections, which wait for the end of a reload, must never crash it.
func BenchmarkReloadsWhileOthersConnect(b *testing.B) {
	for _, run := range agenttesting.All(b) {
		b.Run(run.Version+"/clients", func(b *testing.B) {
			s := newSetup(b, run)
			s.reloadDuringHandshakes(b, s.newClient(b), func(reload func() error) error { return reload() })
		})
		b.Run(run.Version+"/agent", func(b *testing.B) {
			s := newSetup(b, run)
			crashes := s.reloadDuringHandshakes(b, s.dialer, func(reload func() error) error { return s.dialer.Quiet(b.Context(), reload) })
			if crashes > 0 {
				b.Errorf("memcached crashed %d times", crashes)
			}
		})
	}
}

// reloadDuringHandshakes makes memcached read its certificates again and again, by way of in, while eight goroutines connect
// with dialer. It returns how often memcached crashed; it restarts memcached each time.
func (s *setup) reloadDuringHandshakes(b *testing.B, dialer *memcached.Dialer, in func(reload func() error) error) (crashes int) {
	ctx, cancel := context.WithCancel(b.Context())
	var connecting sync.WaitGroup
	defer connecting.Wait()
	defer cancel()
	for range 8 {
		connecting.Go(func() {
			for ctx.Err() == nil {
				if conn, err := dialer.Dial(ctx); err == nil { // Else memcached is being restarted.
					_, _ = conn.Version(ctx)
					_ = conn.Close()
				}
			}
		})
	}
	control := s.control(b)
	for b.Loop() {
		if err := in(func() error { return control.RefreshCertificates(ctx) }); err != nil {
			crashes++
			_ = control.Close()
			s.server.Stop(syscall.SIGKILL)
			s.server.Restart(b)
			control = s.control(b)
		}
	}
	_ = control.Close()
	b.ReportMetric(float64(crashes), "crashes")
	return crashes
}

func (s *setup) control(b *testing.B) *memcached.Conn {
	conn, err := s.newClient(b).Dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return conn
}
