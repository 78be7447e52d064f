package agent

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestMistakesAreExplainedInOneLine(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		says      string
	}{
		"an unknown flag":               {[]string{"--nonsense"}, "agent --help lists all flags"},
		"an argument":                   {[]string{"start"}, `"start"`},
		"no port":                       {[]string{"--memcached=localhost"}, "neither host:port nor the path"},
		"no port to serve on":           {[]string{"--bind-address=9150"}, "write [host]:port"},
		"no process":                    {[]string{"--process="}, "--process is empty"},
		"a certificate without a key":   {[]string{"--tls-certificate=a"}, "--tls-key"},
		"a CA without a name":           {[]string{"--tls-ca=a"}, "--tls-server-name"},
		"too many checks":               {[]string{"--interval=1ms"}, "at least 1s"},
		"too many checks of files":      {[]string{"--reload-interval=1ms"}, "at least 100ms"},
		"no patience":                   {[]string{"--hang-patience=1s"}, "at least 2s, or 0 for never"},
		"no time":                       {[]string{"--probe-timeout=0"}, "no time to answer"},
		"an address of another machine": {[]string{"--bind-address=192.0.2.1:0"}, "listen on --bind-address"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			err := Run(t.Context(), test.arguments, &stderr)
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want one line with %q", err, test.says)
			}
			if stderr.Len() > 0 {
				t.Errorf("more is printed: %s", &stderr)
			}
		})
	}
}

func TestHelpListsEveryFlag(t *testing.T) {
	var stderr bytes.Buffer
	if err := Run(t.Context(), []string{"--help"}, &stderr); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	for _, name := range []string{"-memcached address", "-users-file file", "-tls-ca file", "-directory directory", "-reload-interval time"} {
		if !strings.Contains(stderr.String(), name) {
			t.Errorf("no %q in\n%s", name, &stderr)
		}
	}
}
