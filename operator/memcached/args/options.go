package args

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// long names of memcached's options, as in its --help (1.6.18 to 1.6.45).
var long = map[string]string{
	"--auth-file":          "-Y",
	"--conn-limit":         "-c",
	"--daemon":             "-d",
	"--disable-cas":        "-C",
	"--disable-dumping":    "-X",
	"--disable-evictions":  "-M",
	"--disable-flush-all":  "-F",
	"--disable-watch":      "-W",
	"--enable-coredumps":   "-r",
	"--enable-largepages":  "-L",
	"--enable-sasl":        "-S",
	"--enable-shutdown":    "-A",
	"--enable-ssl":         "-Z",
	"--extended":           "-o",
	"--help":               "-h",
	"--license":            "-i",
	"--listen":             "-l",
	"--listen-backlog":     "-b",
	"--lock-memory":        "-k",
	"--max-item-size":      "-I",
	"--max-reqs-per-event": "-R",
	"--memory-file":        "-e",
	"--memory-limit":       "-m",
	"--napi-ids":           "-N",
	"--pidfile":            "-P",
	"--port":               "-p",
	"--protocol":           "-B",
	"--slab-growth-factor": "-f",
	"--slab-min-size":      "-n",
	"--threads":            "-t",
	"--udp-port":           "-U",
	"--unix-mask":          "-a",
	"--unix-socket":        "-s",
	"--user":               "-u",
	"--verbose":            "-v",
	"--version":            "-V",
}

// alone are the options of memcached that take no value.
const alone = "ACFLMSVWXZdhikrv"

// Option is one of memcached's options, as getopt would take it.
type Option struct {
	// Name is the short name, for example "-m", or a long one that memcached is not known to have.
	Name string
	// Value is empty for an option that takes none.
	Value string
	// Written is the option as it was written, for example "--memory-limit=64" or "-vm64".
	Written string
}

// Incomplete tells whether the option needs a value and has none, so that memcached would not start. Of a long name that memcached is not
// known to have, that is not known.
func (o Option) Incomplete() bool {
	return o.Value == "" && !strings.HasPrefix(o.Name, "--") && !strings.Contains(alone, o.Name[1:])
}

// Options takes arguments apart as memcached does: "-vm64" is two options, and a long name may be cut short. The error names
// a word that is no option.
func Options(arguments []string) ([]Option, error) {
	if slices.Contains(arguments, "") {
		return nil, errors.New(`"" is not an option of memcached: remove the empty word`)
	}
	var options []Option
	for i := 0; i < len(arguments); i++ {
		written := arguments[i]
		next := func() string {
			if i+1 == len(arguments) {
				return ""
			}
			i++
			return arguments[i]
		}
		var read []Option // None if memcached would not start.
		switch {
		case strings.HasPrefix(written, "--") && written != "--":
			read = longOption(written, i+1 < len(arguments) && strings.HasPrefix(arguments[i+1], "-"), next)
		case strings.HasPrefix(written, "-") && len(written) > 1 && written != "--":
			read = cluster(written, next)
		}
		if read == nil {
			return nil, fmt.Errorf("%q is not an option of memcached: write each option and each value as a word of its own, and no value for "+
				"an option that takes none", written)
		}
		options = append(options, read...)
	}
	return options, nil
}

// longOption reads "--name=value", "--name value" and "--name". An option that takes a value takes the next word, even if that looks
// like an option; of one that memcached is not known to have, nobody knows.
func longOption(written string, optionFollows bool, next func() string) []Option {
	name, value, found := strings.Cut(written, "=")
	short := shortOf(name)
	takesValue := short == "" || !strings.Contains(alone, short[1:])
	switch {
	case found && !takesValue:
		return nil
	case !found && takesValue && (short != "" || !optionFollows):
		value = next()
	}
	return []Option{{Name: cmp.Or(short, name), Value: value, Written: written}}
}

// shortOf returns the short name of a long one, which may be cut short. Where several begin so, memcached would not start:
// the first of them stands for all.
func shortOf(name string) string {
	if short, known := long[name]; known {
		return short
	}
	for _, full := range slices.Sorted(maps.Keys(long)) {
		if strings.HasPrefix(full, name) {
			return long[full]
		}
	}
	return ""
}

// cluster reads "-v", "-m64", "-m 64" and "-vm64".
func cluster(written string, next func() string) []Option {
	var options []Option
	for i := 1; i < len(written); i++ {
		option := Option{Name: "-" + written[i:i+1], Written: written}
		if option.Name == "--" {
			return nil
		}
		if !strings.Contains(alone, written[i:i+1]) {
			if option.Value = written[i+1:]; option.Value == "" {
				option.Value = next()
			}
			return append(options, option)
		}
		options = append(options, option)
	}
	return options
}
