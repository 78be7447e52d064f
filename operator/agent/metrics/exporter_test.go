package metrics

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-kit/log/level"
)

func TestErrorsOfTheExporterAreWarnings(t *testing.T) {
	var log bytes.Buffer
	logger := kitLogger(slog.New(slog.NewTextHandler(&log, nil)))
	for _, err := range []error{
		level.Debug(logger).Log("msg", "Key not found", "key", "age"),
		level.Error(logger).Log("msg", "Failed to connect", "err", "refused"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	line := log.String()
	if !strings.Contains(line, `level=WARN msg="The exporter reports: Failed to connect" err=refused`) || strings.Contains(line, "age") {
		t.Errorf("the log is %s", line)
	}
}
