package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWhatTheEndInterruptsIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	logger := newLogger(&log).WithName("controller").WithValues("kind", "Memcached")
	logger.Error(fmt.Errorf("patch the Service: %w", context.Canceled), "Reconciler error")
	if log.Len() > 0 {
		t.Errorf("the log is %s", &log)
	}
	for _, err := range []error{errors.New("no route to host"), context.DeadlineExceeded} {
		logger.Error(err, "Reconciler error")
		if !strings.Contains(log.String(), err.Error()) {
			t.Errorf("%q is not in the log: %s", err, &log)
		}
	}
	logger.Info("Memcached is ready")
	if got := strings.Count(log.String(), "\n"); got != 3 {
		t.Errorf("the log has %d lines: %s", got, &log)
	}
}
