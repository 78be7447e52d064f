package change

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// defaultArguments are memcached's own.
func defaultArguments() Arguments {
	return Arguments{
		CacheMemory:    64,
		MaxConnections: 1024,
		MaxItemSize:    1 << 20,
		Threads:        4,
		Port:           11211,
		MinItemSpace:   48,
		GrowthFactor:   "1.25",
	}
}

// long names of the options that have a field, as in memcached's --help.
var long = map[string]string{
	"--memory-limit":       "-m",
	"--conn-limit":         "-c",
	"--max-item-size":      "-I",
	"--threads":            "-t",
	"--port":               "-p",
	"--slab-min-size":      "-n",
	"--slab-growth-factor": "-f",
	"--disable-cas":        "-C",
	"--memory-file":        "-e",
	"--enable-ssl":         "-Z",
	"--auth-file":          "-Y",
	"--extended":           "-o",
}

// alone are the options of memcached that take no value.
const alone = "ACFLMSVWXZdhikrv"

// ParseArguments reads memcached's arguments. The error names the first one that cannot be understood.
func ParseArguments(arguments []string) (Arguments, error) {
	a := defaultArguments()
	for i := 0; i < len(arguments); i++ {
		option, value, hasValue := split(arguments[i])
		if _, known := setters[option]; known && !hasValue {
			if i++; i == len(arguments) {
				return a, fmt.Errorf("memcached's argument %s has no value", option)
			}
			value = arguments[i]
		}
		if err := a.set(option, value, arguments[i]); err != nil {
			return a, fmt.Errorf("memcached's argument %s: %w", option, err)
		}
	}
	slices.Sort(a.SlabOptions)
	slices.Sort(a.TLSOptions)
	return a, nil
}

// split takes apart "-m64", "--memory-limit=64" and the like. The option of a long name that has a field is the short one.
func split(argument string) (option, value string, hasValue bool) {
	if name, value, found := strings.Cut(argument, "="); strings.HasPrefix(argument, "--") {
		if short, known := long[name]; known {
			return short, value, found
		}
		return argument, "", true
	}
	if len(argument) > 2 && argument[0] == '-' && !strings.ContainsRune(alone, rune(argument[1])) {
		return argument[:2], argument[2:], true
	}
	return argument, "", false
}

// setters are the options with a value that have a field.
var setters = map[string]func(*Arguments, string) error{
	"-m": func(a *Arguments, v string) (err error) { a.CacheMemory, err = whole(v); return err },
	"-c": func(a *Arguments, v string) (err error) { a.MaxConnections, err = small(v); return err },
	"-t": func(a *Arguments, v string) (err error) { a.Threads, err = small(v); return err },
	"-p": func(a *Arguments, v string) (err error) { a.Port, err = small(v); return err },
	"-n": func(a *Arguments, v string) (err error) { a.MinItemSpace, err = small(v); return err },
	"-I": func(a *Arguments, v string) (err error) { a.MaxItemSize, err = size(v); return err },
	"-f": func(a *Arguments, v string) error { a.GrowthFactor = v; return nil },
	"-e": func(a *Arguments, v string) error { a.MemoryFile = v; return nil },
	"-Y": func(a *Arguments, v string) error { a.AuthFile = v; return nil },
	"-o": func(a *Arguments, v string) error { a.extended(v); return nil },
}

// set takes over one option; those without a field are kept as they were written.
func (a *Arguments) set(option, value, written string) error {
	switch option {
	case "-C":
		a.NoCAS = true
	case "-Z":
		a.TLS = true
	default:
		if setter, known := setters[option]; known {
			return setter(a, value)
		}
		a.Other = append(a.Other, written)
	}
	return nil
}

// extended sorts the options of -o into those that lay out the memory, those of TLS, and others.
func (a *Arguments) extended(value string) {
	for option := range strings.SplitSeq(value, ",") {
		switch {
		case strings.HasPrefix(option, "slab_"), strings.HasPrefix(option, "no_slab_"):
			a.SlabOptions = append(a.SlabOptions, option)
		case strings.HasPrefix(option, "ssl_"):
			a.TLSOptions = append(a.TLSOptions, option)
		default:
			a.Other = append(a.Other, "-o", option)
		}
	}
}

func whole(value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", value)
	}
	return n, nil
}

func small(value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number, or too large", value)
	}
	return int32(n), nil
}

// size reads bytes, with the suffix k or m for KiB and MiB.
func size(value string) (int64, error) {
	digits, factor := value, int64(1)
	if value != "" {
		switch last := value[len(value)-1]; last {
		case 'k', 'K':
			digits, factor = value[:len(value)-1], 1<<10
		case 'm', 'M':
			digits, factor = value[:len(value)-1], 1<<20
		}
	}
	n, err := whole(digits)
	if err != nil || n > 1<<40 {
		return 0, fmt.Errorf("%q is not a size in bytes, nor one with k or m", value)
	}
	return n * factor, nil
}
