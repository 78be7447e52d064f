package agent

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// A scrape beyond the limits of the ServiceMonitor is lost as a whole. Here memcached has as many slab classes as it can have.
func TestAScrapeIsFarBelowItsLimits(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t, "-m", "256", "-f", "1.05")
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name)
		var sets strings.Builder
		for size := 1; size < 1<<19; size += 1 + size/50 {
			fmt.Fprintf(&sets, "set key-%d 0 0 %d noreply\r\n%s\r\n", size, size, strings.Repeat("x", size))
		}
		exchange(t, server.Address, sets.String())
		answers(t, url+"/metrics", http.StatusOK, "memcached_slab_chunk_size_bytes{slab=\"50\"}")
		_, page, err := get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		samples := 0
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "#") {
				samples++
			}
		}
		t.Logf("%d samples, %d bytes", samples, len(page))
		if samples < 500 || samples > manifest.SampleLimit/2 || len(page) > manifest.BodyLimit/2 {
			t.Errorf("a scrape has %d samples in %d bytes, and may have %d in %d", samples, len(page), manifest.SampleLimit, manifest.BodyLimit)
		}
	})
}
