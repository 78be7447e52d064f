package metrics

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// answer is what memcached says to everybody, again and again if it is endless.
type answer struct {
	text    []byte
	endless bool
}

// Whatever runs in the place of memcached, a scrape of its metrics ends, takes little memory, and the agent goes on.
func FuzzScrape(f *testing.F) {
	for _, seed := range []string{
		"VERSION 1.6.45\r\n", "STAT pid 1\r\nSTAT version \xff\r\nSTAT uptime x\r\nEND\r\n", "STAT version 1.6.45\r\nSTAT time NaN\r\n", "STAT 1:x 5\r\nEND\r\n",
		"STAT items:1:number 5\r\nSTAT items:\xff:number 5\r\nEND\r\n", "STAT maxconns -1\r\nEND\r\n", "STAT\r\n", "END\r\n", "ERROR\r\n", "\x00", "STAT a b\r\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	var says atomic.Pointer[answer]
	address := agenttesting.Answer(f, "unix", filepath.Join(f.TempDir(), "s"), func(conn net.Conn) {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		for said := says.Load(); ; {
			if _, err := conn.Write(said.text); err != nil || !said.endless || len(said.text) == 0 {
				return
			}
		}
	})
	logger := slog.New(slog.DiscardHandler)
	bridge, err := NewBridge(f.TempDir(), memcached.NewDialer(address, &api.Certificates{}, &api.Users{}), logger)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(bridge.Close)
	registry := prometheus.NewRegistry()
	registry.MustRegister(newExporter(bridge, logger))
	f.Fuzz(func(t *testing.T, text []byte, endless bool) {
		says.Store(&answer{text, endless})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		families, err := registry.Gather()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20+uint64(len(text))*20 {
			t.Errorf("a scrape takes %d bytes of memory", took)
		}
		if err != nil && bytes.ContainsRune([]byte(err.Error()), '\x1b') {
			t.Errorf("%q", err)
		}
		for _, family := range families {
			if !strings.HasPrefix(family.GetName(), "memcached_") {
				t.Errorf("there is a metric %q", family.GetName())
			}
		}
	})
}

// Whatever the file with the starts of memcached contains, the agent can tell the last start to the operator, or says that the count begins
// anew.
func FuzzHistory(f *testing.F) {
	for _, seed := range []string{
		`{"last":{"pid":7,"processor":6,"time":1000,"uptime":90,"items":50,"run":"a"},"warm":1,"cold":1,"lastWarm":true,"before":50,"restored":48,"since":910}`,
		`{"warm": 3, "last"`, `{"last":{},"since":9223372036854775807}`, `{"last":{},"since":-62135596801,"before":-1}`, `{"last":{"run":"\u001b\n"}}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		directory := t.TempDir()
		if err := os.WriteFile(filepath.Join(directory, "starts.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		history, err := OpenHistory(directory, nil)
		start, known := history.Last()
		if err != nil {
			if known || !strings.Contains(err.Error(), "begins anew") || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("with the error %q, the last start is %+v", err, start)
			}
			return
		}
		if !known {
			return
		}
		raw, err := json.Marshal(api.State{Version: "1.6.45", Run: start.Run, Started: start.At.UTC(), Before: start.Before, Restored: start.Restored})
		if err != nil {
			t.Fatalf("the operator is not told the start %+v: %v", start, err)
		}
		if start.Before < 0 || start.Restored < 0 {
			t.Errorf("the operator is told %s", raw)
		}
	})
}
