package metrics_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/metrics"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// serve runs a bridge until stop is called, which waits for its end.
func serve(t *testing.T, dialer *memcached.Dialer) (bridge *metrics.Bridge, stop func()) {
	t.Helper()
	bridge, err := metrics.NewBridge(t.TempDir(), dialer, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bridge.Close)
	return bridge, agenttesting.Background(t, func(ctx context.Context) { bridge.Serve(func() { <-ctx.Done() }) })
}

func TestClientsNeedNeitherTLSNorAPassword(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		files := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour))
		files["users"] = "user:secret\n"
		volume := agenttesting.NewVolume(t, files)
		server := run.Start(t, append(volume.TLS(), "-Y", volume.File("users"))...)
		certificates, err := volume.Files().Read()
		if err != nil {
			t.Fatal(err)
		}
		users, err := api.ReadUsers(volume.File("users"))
		if err != nil {
			t.Fatal(err)
		}
		bridge, stop := serve(t, memcached.NewDialer(server.Address, certificates, users))
		client, err := net.Dial("unix", bridge.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		lines := bufio.NewReader(client)
		for _, exchange := range [][2]string{
			{"version\r\n", "VERSION " + run.Version + "\r\n"},
			{"set key 0 0 5\r\nvalue\r\n", "STORED\r\n"},
			{"get key\r\n", "VALUE key 0 5\r\n"},
		} {
			if _, err := fmt.Fprint(client, exchange[0]); err != nil {
				t.Fatal(err)
			}
			if answer, err := lines.ReadString('\n'); err != nil || answer != exchange[1] {
				t.Errorf("%q is answered %q, %v", exchange[0], answer, err)
			}
		}
		info, err := os.Stat(bridge.Address())
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket is open to others: %v, %v", info, err)
		}
		stop()
		if _, err := io.Copy(io.Discard, client); err != nil {
			t.Errorf("the connection of the client stays open: %v", err)
		}
		bridge.Close()
		if _, err := os.Stat(bridge.Address()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket stays: %v", err)
		}
	})
}

func TestTheConnectionIsClosedIfMemcachedIsNotReached(t *testing.T) {
	bridge, _ := serve(t, memcached.NewDialer(testkit.FreeAddress(t), &api.Certificates{}, &api.Users{}))
	client, err := net.Dial("unix", bridge.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if n, err := io.Copy(io.Discard, client); n != 0 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestAnOldSocketIsReplaced(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "memcached.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := metrics.NewBridge(directory, nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	_, err := metrics.NewBridge(filepath.Join(directory, strings.Repeat("long", 40)), nil, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "is the directory writable") {
		t.Errorf("a path that is too long: %v", err)
	}
}
