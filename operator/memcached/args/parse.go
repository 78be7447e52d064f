package args

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads memcached's arguments. The error names the first one that cannot be understood.
func Parse(arguments []string) (Arguments, error) {
	a := Default()
	options, err := Options(arguments)
	if err != nil {
		return a, err
	}
	for _, option := range options {
		if err := a.set(option); err != nil {
			return a, fmt.Errorf("memcached's argument %s: %w", option.Name, err)
		}
	}
	slices.Sort(a.SlabOptions)
	slices.Sort(a.TLSOptions)
	return a, nil
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
	"-o": (*Arguments).extended,
}

// set takes over one option; those without a field are kept by their short names.
func (a *Arguments) set(option Option) error {
	setter, known := setters[option.Name]
	switch {
	case option.Name == "-C":
		a.NoCAS = true
	case option.Name == "-Z":
		a.TLS = true
	case known && option.Value == "":
		return errors.New("it has no value")
	case known:
		return setter(a, option.Value)
	case option.Value == "":
		a.Other = append(a.Other, option.Name)
	case strings.HasPrefix(option.Name, "--"):
		a.Other = append(a.Other, option.Name+"="+option.Value)
	default:
		a.Other = append(a.Other, option.Name, option.Value)
	}
	return nil
}

// extended sorts the options of -o into those that lay out the memory, those of TLS, the size of the table of items, and others.
func (a *Arguments) extended(value string) (err error) {
	for option := range strings.SplitSeq(value, ",") {
		switch power, isPower := strings.CutPrefix(option, hashPower); {
		case option == "": // At the end, memcached passes over it. Elsewhere it would not start.
		case isPower:
			if a.HashPower, err = small(power); err != nil {
				return err
			}
		case strings.HasPrefix(option, "slab_"), strings.HasPrefix(option, "no_slab_"):
			a.SlabOptions = append(a.SlabOptions, option)
		case strings.HasPrefix(option, "ssl_"):
			a.TLSOptions = append(a.TLSOptions, option)
		default:
			a.Other = append(a.Other, "-o", option)
		}
	}
	return nil
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
	if err != nil || n < 0 || n > 1<<40 {
		return 0, fmt.Errorf("%q is not a size in bytes, nor one with k or m", value)
	}
	return n * factor, nil
}
