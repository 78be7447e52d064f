package agent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/args"
)

// options are the values of the flags.
type options struct {
	memcached      string
	bind           string
	directory      string
	process        string
	users          string
	cacheMemory    string
	certificates   api.CertificateFiles
	interval       time.Duration
	reloadInterval time.Duration
	probeTimeout   time.Duration
	hangPatience   time.Duration
}

// parse reads the command line.
func parse(arguments []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("memcached-operator agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Errors are printed once, by main, without the whole usage.
	flags.StringVar(&o.memcached, "memcached", fmt.Sprintf("127.0.0.1:%d", args.Port), "`address` of memcached: host:port, or the path of a Unix socket")
	flags.StringVar(&o.bind, "bind-address", fmt.Sprintf(":%d", api.MetricsPort), "`address` that serves /metrics, /readyz, /livez, /healthz and /state")
	flags.StringVar(&o.directory, "directory", "",
		"private writable `directory` for the history of memcached's starts, which should outlive the agent's container; "+
			"without it, a temporary one that does not")
	flags.StringVar(&o.process, "process", "memcached", "`name` of memcached's process, which gets SIGHUP when users change")
	flags.StringVar(&o.users, "users-file", "", "memcached's own `file` of lines user:password; the agent logs in as the first of them")
	flags.StringVar(&o.cacheMemory, "cache-memory-file", "",
		"`file` with the memory for items, in MiB, to which memcached's is changed; it may be missing or empty")
	flags.StringVar(&o.certificates.CA, "tls-ca", "", "PEM `file` of the CA that signed memcached's certificate; with it, the agent speaks TLS")
	flags.StringVar(&o.certificates.ServerName, "tls-server-name", "", "DNS `name` that memcached's certificate is for; needed with --tls-ca")
	flags.StringVar(&o.certificates.Certificate, "tls-certificate", "",
		"memcached's own certificate, a PEM `file`; memcached reads it again when it, its key or the CA changes")
	flags.StringVar(&o.certificates.Key, "tls-key", "", "PEM `file` of the key of --tls-certificate")
	flags.DurationVar(&o.interval, "interval", 10*time.Second, "`time` between two checks of memcached: canary, starts; at least 1s")
	flags.DurationVar(&o.reloadInterval, "reload-interval", 2*time.Second, "`time` between two checks of the files; at least 100ms")
	flags.DurationVar(&o.probeTimeout, "probe-timeout", 1800*time.Millisecond, "`time` that memcached has to answer a probe; below the probe's own timeout")
	flags.DurationVar(&o.hangPatience, "hang-patience", 5*time.Minute,
		"`time` without any answer after which a memcached that accepts connections is killed: it starts again, and empty; 0 for never, else at least 2s")
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w; agent --help lists all flags", err)
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; agent --help lists all flags", flags.Arg(0))
	}
	return o, o.check()
}

// check returns an error for values that cannot work.
func (o options) check() error {
	files := o.certificates
	_, _, memcachedError := net.SplitHostPort(o.memcached)
	_, _, bindError := net.SplitHostPort(o.bind)
	for _, mistake := range []struct {
		found   bool
		message string
	}{
		{memcachedError != nil && !strings.Contains(o.memcached, "/"),
			fmt.Sprintf("--memcached=%q is neither host:port nor the path of a Unix socket", o.memcached)},
		{bindError != nil, fmt.Sprintf("--bind-address=%q is not an address: write [host]:port", o.bind)},
		{o.process == "", "--process is empty: give the name of memcached's program"},
		{(files.Certificate == "") != (files.Key == ""), "--tls-certificate and --tls-key go together: give both, or none"},
		{(files.CA == "") != (files.ServerName == ""), "--tls-ca and --tls-server-name go together: give both, or none"},
		{o.interval < time.Second, fmt.Sprintf("--interval=%s is too short: at least 1s", o.interval)},
		{o.reloadInterval < 100*time.Millisecond, fmt.Sprintf("--reload-interval=%s is too short: at least 100ms", o.reloadInterval)},
		{o.hangPatience != 0 && o.hangPatience < 2*time.Second, fmt.Sprintf("--hang-patience=%s is too short: at least 2s, or 0 for never", o.hangPatience)},
		{o.probeTimeout <= 0, fmt.Sprintf("--probe-timeout=%s leaves memcached no time to answer", o.probeTimeout)},
	} {
		if mistake.found {
			return errors.New(mistake.message)
		}
	}
	return nil
}
