package walk

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWithinReturnsWhenTheCheckReturnsNil(t *testing.T) {
	calls := 0
	err := Within(t.Context(), time.Minute, "the second call", func(context.Context) error {
		if calls++; calls < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || calls != 2 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// The second call lasts until the deadline.
func TestWithinReturnsTheLastErrorBeforeTheDeadline(t *testing.T) {
	first := true
	err := Within(t.Context(), 700*time.Millisecond, "the pods", func(ctx context.Context) error {
		if first {
			first = false
			return errors.New("2 of 3 are there")
		}
		<-ctx.Done()
		return errors.New("signal: killed")
	})
	if err == nil || !strings.Contains(err.Error(), "2 of 3 are there") || !strings.Contains(err.Error(), "the pods") {
		t.Errorf("error is %v", err)
	}
}
