package args_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/memcached/args"
)

func TestOptionsAreTakenApartAsMemcachedDoes(t *testing.T) {
	for written, want := range map[string][]args.Option{
		"":                       nil,
		"-v":                     {{Name: "-v", Written: "-v"}},
		"-vv":                    {{Name: "-v", Written: "-vv"}, {Name: "-v", Written: "-vv"}},
		"-m 64":                  {{Name: "-m", Value: "64", Written: "-m"}},
		"-m64":                   {{Name: "-m", Value: "64", Written: "-m64"}},
		"-vm64":                  {{Name: "-v", Written: "-vm64"}, {Name: "-m", Value: "64", Written: "-vm64"}},
		"-vm 64":                 {{Name: "-v", Written: "-vm"}, {Name: "-m", Value: "64", Written: "-vm"}},
		"--memory-limit=64":      {{Name: "-m", Value: "64", Written: "--memory-limit=64"}},
		"--memory-limit 64":      {{Name: "-m", Value: "64", Written: "--memory-limit"}},
		"--memory-l 64 -v":       {{Name: "-m", Value: "64", Written: "--memory-l"}, {Name: "-v", Written: "-v"}},
		"--enable-ssl -v":        {{Name: "-Z", Written: "--enable-ssl"}, {Name: "-v", Written: "-v"}},
		"--max-reqs-per-event 9": {{Name: "-R", Value: "9", Written: "--max-reqs-per-event"}},
		"--lock-memory -R 9":     {{Name: "-k", Written: "--lock-memory"}, {Name: "-R", Value: "9", Written: "-R"}},
		"--from-the-future 9":    {{Name: "--from-the-future", Value: "9", Written: "--from-the-future"}},
		"--from-the-future":      {{Name: "--from-the-future", Written: "--from-the-future"}},
		"--from-the-future -9":   {{Name: "--from-the-future", Written: "--from-the-future"}, {Name: "-9", Written: "-9"}},
		"--daem":                 {{Name: "-d", Written: "--daem"}},
		"-o a,b":                 {{Name: "-o", Value: "a,b", Written: "-o"}},
		"-m":                     {{Name: "-m", Written: "-m"}},
	} {
		t.Run(written, func(t *testing.T) {
			got, err := args.Options(strings.Fields(written))
			if difference := cmp.Diff(want, got); difference != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, difference)
			}
		})
	}
}

func TestAWordThatIsNoOptionIsNamed(t *testing.T) {
	for _, written := range [][]string{{"64"}, {"-v", "x"}, {"--"}, {"-"}, {""}} {
		if got, err := args.Options(written); err == nil || !strings.Contains(err.Error(), "is not an option") {
			t.Errorf("%q became %v, %v", written, got, err)
		}
	}
}

func TestAnOptionWithoutItsValueIsIncomplete(t *testing.T) {
	for written, want := range map[string]bool{
		"-o": true, "-m": true, "-vm": true, "--memory-limit": true, "--memory-limit=": true, "--listen": true,
		"-v": false, "-m 64": false, "-m64": false, "--memory-limit=64": false, "--enable-ssl": false, "--from-the-future": false,
	} {
		options, err := args.Options(strings.Fields(written))
		if err != nil || options[len(options)-1].Incomplete() != want {
			t.Errorf("%s is incomplete: %t, %v, want %t", written, !want, err, want)
		}
	}
}
