package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

const (
	// patience is how long one look may take. What is not done by then is done at the next one.
	patience = 5 * time.Second

	// pause is the time between two attempts to have a page released.
	pause = 5 * time.Millisecond
)

// Loop looks whether memcached's memory is what is asked for.
type Loop struct {
	// File holds the memory for items, in whole MiB, as text. While it is not there, or is empty, nothing is asked for.
	File string

	// Dialer reaches memcached.
	Dialer *memcached.Dialer

	// Interval is the time between two looks.
	Interval time.Duration

	// Logger gets a line for each change, and for each new reason of a failure.
	Logger *slog.Logger

	mutex   sync.Mutex
	problem string
}

// Problem says why memcached's memory is not what is asked for, in a text that is the same each time. It is empty when it
// is. While memcached cannot be reached, it is what it was before.
func (l *Loop) Problem() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.problem
}

// Run looks until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	ticker := time.NewTicker(l.Interval)
	defer ticker.Stop()
	for {
		if err := l.look(ctx); ctx.Err() == nil {
			l.note(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// note remembers and logs how a look ended. That memcached cannot be reached is noticed by others.
func (l *Loop) note(err error) {
	problem := ""
	var refused *memcached.RefusedError
	switch {
	case errors.As(err, &refused), errors.Is(err, errAsked):
		problem = memcached.Brief(err)
	case err != nil:
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if problem != "" && problem != l.problem {
		l.Logger.Error("Memcached's memory is not what is asked for: trying again", "error", err, "every", l.Interval)
	}
	l.problem = problem
}

// look changes memcached's memory if it is not what is asked for.
func (l *Loop) look(ctx context.Context) error {
	wanted, err := asked(l.File)
	if err != nil || wanted == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := l.Dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	limit, err := currentLimit(ctx, conn)
	if err != nil {
		return err
	}
	if limit != wanted*mebibyte {
		if err := change(ctx, conn, wanted); err != nil {
			return err
		}
		l.Logger.Info("Memcached's memory was changed", "fromMiB", limit/mebibyte, "toMiB", wanted)
	}
	return release(ctx, conn, wanted)
}

// change sets the limit and sees to it that memcached has it.
func change(ctx context.Context, conn *memcached.Conn, wanted int64) error {
	if err := conn.SetMemoryLimit(ctx, wanted); err != nil {
		var refused *memcached.RefusedError
		if errors.As(err, &refused) {
			return fmt.Errorf("memcached cannot have %d MiB while it runs, which -e and -L rule out: restart it with that -m: %w", wanted, err)
		}
		return err
	}
	limit, err := currentLimit(ctx, conn)
	if err == nil && limit != wanted*mebibyte {
		err = &memcached.RefusedError{Command: "cache_memlimit", Answer: "OK, but goes on with " + strconv.FormatInt(limit, 10) + " bytes"}
	}
	return err
}

// release makes memcached give back what it has beyond its limit, as much of it as there is time for.
func release(ctx context.Context, conn *memcached.Conn, limit int64) error {
	for {
		slabs, err := conn.Stats(ctx, "slabs")
		if err != nil {
			return err
		}
		taken, err := count(slabs)
		if err != nil || taken.held() <= limit {
			return err
		}
		if err := conn.ReleasePage(ctx, taken.largest); err != nil && !errors.Is(err, memcached.ErrBusy) {
			return fmt.Errorf("memcached does not give back memory beyond its limit: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
