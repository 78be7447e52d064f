package metrics

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"github.com/example/memcached-operator/operator/internal/testkit"
)

func TestAnErrorOfTheBridgesSocketIsLogged(t *testing.T) {
	log := testkit.NewLog(t)
	bridge, err := NewBridge(t.TempDir(), nil, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer bridge.Close()
	bridge.Serve(func() {})
	if log.String() != "" {
		t.Errorf("the end of a scrape is logged: %s", log)
	}
	other, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	socket, err := bridge.listener.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failure error
	err = socket.Control(func(descriptor uintptr) { failure = syscall.Dup3(int(other.Fd()), int(descriptor), syscall.O_CLOEXEC) })
	if err := errors.Join(err, failure); err != nil {
		t.Fatal(err)
	}
	bridge.Serve(func() {
		testkit.Await(t, "the error is logged", func(context.Context) error {
			if log.Count("level=WARN", "non-socket") != 1 {
				return errors.New("it is not")
			}
			return nil
		})
	})
	bridge.Close()
	bridge.Serve(func() {})
	if lines := log.Count(""); lines != 1 {
		t.Errorf("%d lines are logged, also for a bridge that was closed", lines)
	}
}
