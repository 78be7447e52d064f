package metrics_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/metrics"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

func TestErrorsOfTheCanaryNameTheAddress(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	volume := agenttesting.NewVolume(t, agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour)))
	certificates, err := volume.Files().Read()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		address      string
		certificates *api.Certificates
	}{
		"nobody listens":                   {testkit.FreeAddress(t), &api.Certificates{}},
		"nobody listens on a Unix socket":  {filepath.Join(t.TempDir(), "memcached.sock"), &api.Certificates{}},
		"nobody answers the TLS handshake": {silent.Addr().String(), certificates},
		"nobody answers":                   {silent.Addr().String(), &api.Certificates{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			canary := metrics.NewCanary(memcached.NewDialer(test.address, test.certificates, &api.Users{}), "pod", prometheus.NewRegistry())
			defer canary.Close()
			if err := canary.Measure(); err == nil || !strings.Contains(err.Error(), test.address) {
				t.Errorf("the error is %v, want one that names %s", err, test.address)
			}
		})
	}
}
