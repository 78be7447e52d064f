package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// newLogger returns a logger that writes one JSON object a line.
func newLogger(to io.Writer) logr.Logger {
	return logr.FromSlogHandler(silent{slog.NewJSONHandler(to, nil)})
}

// useLogger makes controller-runtime and client-go log with a logger. No controller may run yet: the variables that hold their loggers have
// no lock.
func useLogger(logger logr.Logger) {
	log.SetLogger(logger)
	klog.SetLogger(logger)
}

// silent drops errors that only say that the operator is stopping: every request under way is cancelled then, and each would
// log an error.
type silent struct{ slog.Handler }

func (s silent) Handle(ctx context.Context, record slog.Record) error {
	interrupted := false
	record.Attrs(func(attribute slog.Attr) bool {
		err, isError := attribute.Value.Any().(error)
		interrupted = isError && errors.Is(err, context.Canceled)
		return !interrupted
	})
	if interrupted {
		return nil
	}
	return s.Handler.Handle(ctx, record)
}

func (s silent) WithAttrs(attributes []slog.Attr) slog.Handler {
	return silent{s.Handler.WithAttrs(attributes)}
}

func (s silent) WithGroup(name string) slog.Handler { return silent{s.Handler.WithGroup(name)} }
