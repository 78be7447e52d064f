// Package memory keeps memcached's memory for items at the amount that a file asks for, without a restart. memcached starts
// with its -m; if that is older than the file, the memory is changed as well.
//
// Seen with 1.6.18, 1.6.38 and 1.6.45:
//
//   - cache_memlimit takes effect at once, but only for memory that memcached takes later. A full memcached whose limit is
//     lowered keeps all it has, for as long as one waits; if the container's limit follows, it is killed.
//   - memcached releases a page of 1 MiB at a time, on the command "slabs reassign <class> 0": 192 pages full of items of 1 kB
//     took 0.3 to 4.4 seconds. So pages are taken from the class that has most, until those beyond the first of each class fit
//     the limit. A memcached that filled up under this limit never has more: each of the 39 classes gets its first page whatever
//     the limit is, and package sizing of the operator includes them.
//   - glibc returns pages that memcached frees to the system, but only until memcached has grown again: 197 MiB were resident
//     with 66 MiB in use after the second time. With MALLOC_MMAP_THRESHOLD_=524288 in memcached's environment, it always did.
//   - A memcached that is restarted begins with its -m again: in a pod whose memory was lowered, that is too much. So an
//     open connection shows its end, and it gets its limit as soon as it listens again. If the agent starts later than
//     memcached, clients can fill memcached up to its -m before.
//   - memcached refuses less than 8 MiB, and with -e any change.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/repeat"
)

const (
	// minimum is the least that memcached accepts, in MiB.
	minimum = 8

	// checkTimeout is how long one check may take. The next one continues what is not done by then.
	checkTimeout = 5 * time.Second

	// retryInterval is the time between two attempts to reach a memcached that is being restarted.
	retryInterval = 50 * time.Millisecond

	// releaseInterval is the time from the end of an attempt to have a page released to the next attempt.
	releaseInterval = 5 * time.Millisecond
)

// errFile marks what is wrong with the file.
var errFile = errors.New("the memory for items")

// Loop checks again and again whether memcached's memory is the wanted one, and changes it.
type Loop struct {
	// File holds the memory for items, in whole MiB, as text. If it is missing or empty, nothing is changed.
	File string

	// Dialer reaches memcached.
	Dialer *memcached.Dialer

	// Interval is the time between two checks.
	Interval time.Duration

	// Logger gets a line for each change, and for each new reason of a failure.
	Logger *slog.Logger

	problem atomic.Value
}

// Problem says why memcached's memory is not the wanted one, in a stable text. It is empty if it is. While memcached cannot be
// reached, it does not change.
func (l *Loop) Problem() string {
	problem, _ := l.problem.Load().(string)
	return problem
}

// Run checks until ctx ends: after each interval, and as soon as memcached has been restarted. It begins with the memory of its
// arguments, and clients could fill that before the next interval is over.
func (l *Loop) Run(ctx context.Context) {
	for ctx.Err() == nil {
		rest, cancel := context.WithTimeout(ctx, l.Interval)
		err := l.check(ctx, rest)
		if ctx.Err() == nil {
			l.report(err)
		}
		if restarting(err) {
			cancel()
			rest, cancel = context.WithTimeout(ctx, retryInterval)
		}
		if err != nil {
			<-rest.Done()
		}
		cancel()
	}
}

// restarting reports whether an error is that of a memcached that ends or does not listen yet.
func restarting(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// report keeps and logs the result of a check. Others report a memcached that cannot be reached.
func (l *Loop) report(err error) {
	problem := ""
	var refused *memcached.RefusedError
	switch {
	case errors.As(err, &refused), errors.Is(err, errFile):
		problem = memcached.Brief(err)
	case err != nil:
		return
	}
	if problem != "" && problem != l.Problem() {
		l.Logger.Error("Memcached's memory is not what is asked for: trying again", "error", err, "every", l.Interval)
	}
	l.problem.Store(problem)
}

// check changes memcached's memory if it is not the wanted one. Then it waits until rest or memcached ends.
func (l *Loop) check(ctx, rest context.Context) error {
	wanted, err := read(l.File)
	if err != nil {
		return err
	}
	if wanted == 0 {
		<-rest.Done()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := l.Dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := l.apply(ctx, conn, wanted); err != nil {
		return err
	}
	l.report(nil)
	conn.AwaitEnd(rest)
	return nil
}

// apply gives memcached the wanted memory, in MiB.
func (l *Loop) apply(ctx context.Context, conn *memcached.Conn, wanted int64) error {
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

// read returns the memory that the file asks for, in MiB; 0 for none. Its errors are errFile.
func read(path string) (int64, error) {
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("%w cannot be read: %w", errFile, err)
	case text == "":
		return 0, nil
	}
	wanted, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w is %.40q in %s: write a whole number of MiB", errFile, text, path)
	case wanted < minimum:
		return 0, fmt.Errorf("%w is %d MiB in %s, but memcached takes no less than %d: write %d or more", errFile, wanted, path, minimum, minimum)
	}
	return wanted, nil
}

// change sets the limit, and verifies that memcached uses it.
func change(ctx context.Context, conn *memcached.Conn, wanted int64) error {
	err := conn.SetMemoryLimit(ctx, wanted)
	var refused *memcached.RefusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("memcached cannot have %d MiB while it runs, which -e and -L rule out: restart it with that -m: %w", wanted, err)
	}
	if err != nil {
		return err
	}
	limit, err := currentLimit(ctx, conn)
	if err == nil && limit != wanted*mebibyte {
		err = &memcached.RefusedError{Command: "cache_memlimit", Answer: "OK, but goes on with " + strconv.FormatInt(limit, 10) + " bytes"}
	}
	return err
}

// release makes memcached release memory above its limit, in MiB, until that is done or ctx ends.
func release(ctx context.Context, conn *memcached.Conn, limit int64) (err error) {
	ended := repeat.Until(ctx, releaseInterval, func(ctx context.Context) (released bool) {
		released, err = releasePage(ctx, conn, limit)
		return released || err != nil
	})
	if !ended {
		return ctx.Err()
	}
	return err
}

// releasePage makes memcached begin to release a page, and returns true if it has no memory above its limit.
func releasePage(ctx context.Context, conn *memcached.Conn, limit int64) (released bool, err error) {
	slabs, err := conn.Stats(ctx, "slabs")
	if err != nil {
		return false, err
	}
	taken, err := count(slabs)
	if err != nil || taken.held() <= limit {
		return true, err
	}
	if err := conn.ReleasePage(ctx, taken.largest); err != nil && !errors.Is(err, memcached.ErrBusy) {
		return false, fmt.Errorf("memcached does not give back memory beyond its limit: %w", err)
	}
	return false, nil
}
