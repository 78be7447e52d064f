package reload_test

import (
	"context"
	"sync"
	"syscall"
	"testing"

	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// How often does memcached crash when it reads its certificates while clients, which show certificates, do nothing but
// connect? The agent's own connections, which wait for the end of a reload, must never make it crash.
func BenchmarkReloadsWhileOthersConnect(b *testing.B) {
	for _, run := range agenttesting.All(b) {
		b.Run(run.Version+"/clients", func(b *testing.B) {
			s := tell(b, run)
			s.reloadBesideHandshakes(b, s.fresh(b), func(reload func() error) error { return reload() })
		})
		b.Run(run.Version+"/agent", func(b *testing.B) {
			s := tell(b, run)
			crashes := s.reloadBesideHandshakes(b, s.dialer, func(reload func() error) error { return s.dialer.Quiet(b.Context(), reload) })
			if crashes > 0 {
				b.Errorf("memcached crashed %d times", crashes)
			}
		})
	}
}

// reloadBesideHandshakes makes memcached read its certificates again and again, in the way given, while eight goroutines
// connect by dialer. It returns how often memcached ended thereby; each time it is started again.
func (s *story) reloadBesideHandshakes(b *testing.B, dialer *memcached.Dialer, in func(reload func() error) error) (crashes int) {
	ctx, cancel := context.WithCancel(b.Context())
	var connecting sync.WaitGroup
	defer connecting.Wait()
	defer cancel()
	for range 8 {
		connecting.Go(func() {
			for ctx.Err() == nil {
				if conn, err := dialer.Dial(ctx); err == nil { // Else memcached is being started again.
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

func (s *story) control(b *testing.B) *memcached.Conn {
	conn, err := s.fresh(b).Dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return conn
}
