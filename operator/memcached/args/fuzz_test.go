package args

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/internal/testkit"
)

// short is the string that memcached gives getopt_long, 1.6.18 to 1.6.45.
const short = "a:AZp:s:U:m:Mc:khiVrvdl:u:P:f:n:t:D:LR:Cb:B:I:SFXWY:e:o:N:"

// getopt takes words apart as glibc's getopt_long does. It returns false if memcached would not start: for an option that memcached
// does not have, a value that is missing or that the option does not take, and a long name that several begin with.
func getopt(words []string) (options []Option, ok bool) {
	takesValue := func(letter string) bool { return strings.Contains(short, letter+":") }
	for i := 0; i < len(words); i++ {
		written := words[i]
		if name, value, found := strings.Cut(written, "="); strings.HasPrefix(written, "--") {
			letter, known := long[name]
			for full, short := range long {
				if !known && strings.HasPrefix(full, name) {
					if letter != "" {
						return nil, false
					}
					letter = short
				}
			}
			switch {
			case letter == "" || found && !takesValue(letter[1:]):
				return nil, false
			case takesValue(letter[1:]) && !found:
				if i++; i == len(words) {
					return nil, false
				}
				value = words[i]
			}
			options = append(options, Option{Name: letter, Value: value, Written: written})
			continue
		}
		for rest := written[1:]; rest != ""; {
			letter := rest[:1]
			rest = rest[1:]
			if letter == ":" || !strings.Contains(short, letter) {
				return nil, false
			}
			value := ""
			if takesValue(letter) {
				if value, rest = rest, ""; value == "" {
					if i++; i == len(words) {
						return nil, false
					}
					value = words[i]
				}
			}
			options = append(options, Option{Name: "-" + letter, Value: value, Written: written})
		}
	}
	return options, true
}

// seeds are command lines, with a newline between two words.
var seeds = []string{
	"", "-v", "-vm64", "-p\n11211\n-m\n64\n-c\n1024\n-I\n1m\n-t\n8", "--memory-limit=64\n--threads\n8\n-C\n--enable-ssl", "--memory-l\n64",
	"-o\nssl_key=k,slab_chunk_max=16,modern,hashpower=20\n-o\nno_slab_reassign,,", "--from-the-future=-x", "--0=-", "-Q\n\n-o\nmodern", "-o\nhashpower=-1", "--from-the-future\n9", "--daemon=x",
	"--listen-backlog\n-R\n-p5", "-I\n-9223372036854775808k", "-v-x", "-\xc3\xa9", "-Q\n\n-v", "-f\n1.25\n-e\n/cache/memory\n-Y\n-x\n-n5", "-o\n,", "64", "--",
}

func words(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(word string) bool { return text == "" })
}

// The options that checks see are those that memcached sees: no option hides from them as the value of another one.
func FuzzOptions(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Options(words(text))
		testkit.OneLine(t, err)
		if err != nil {
			return
		}
		if want, ok := getopt(words(text)); ok && !slices.Equal(want, got) {
			t.Errorf("%q (-memcached +here):\n%s", words(text), cmp.Diff(want, got))
		}
	})
}

// What Parse accepts, Format writes so that Parse reads the same: a command line is the same after it was recorded.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse(words(text))
		testkit.OneLine(t, err)
		if err != nil {
			return
		}
		if parsed.MaxItemSize < 0 {
			t.Errorf("%q asks for items of %d bytes", text, parsed.MaxItemSize)
		}
		if again, err := Parse(parsed.Format()); err != nil || !reflect.DeepEqual(parsed, again) {
			t.Errorf("%q is written as %q, which is read as something else: %v (-want +got):\n%s",
				words(text), parsed.Format(), err, cmp.Diff(parsed, again))
		}
	})
}
