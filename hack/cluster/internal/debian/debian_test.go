package debian

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMachineMirrorReadsBothFormatsWithoutLists(t *testing.T) {
	for name, test := range map[string]struct{ file, content, want string }{
		"one line": {
			"sources.list", "# deb http://old.example bookworm main\ndeb-src http://source.example bookworm main\ndeb [signed-by=/x.gpg] http://mirror.example/debian bookworm main\n", "http://mirror.example/debian",
		},
		"one line, of another suite only": {
			"sources.list", "deb http://mirror.example/security bookworm-security main\n", "",
		},
		"deb822": {
			"sources.list.d/debian.sources",
			"Types: deb\n# a comment: with a colon\nURIs: http://mirror.example/security\nSuites: bookworm-security\nComponents: main\n\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n",
			"http://mirror.example/debian",
		},
		"deb822, disabled": {
			"sources.list.d/debian.sources", "Enabled: no\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			etc := t.TempDir()
			path := filepath.Join(etc, test.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := machineMirror(t.Context(), "bookworm", "-o", "Dir::Etc::sourcelist="+filepath.Join(etc, "sources.list"),
				"-o", "Dir::Etc::sourceparts="+filepath.Join(etc, "sources.list.d"), "-o", "Dir::State::Lists="+filepath.Join(etc, "lists"))
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestLibraryDependsLeavesProgramsOut(t *testing.T) {
	output := "memcached\n  PreDepends: init-system-helpers\n  Depends: libc6\n |Depends: libevent-2.1-7\n  Depends: zlib1g\n  Depends: <libvirtual>\n  Depends: adduser\n  Depends: libjs-jquery\n  Depends: python3-six\n  Depends: <python3:any>\n    python3\n"
	want := []string{"libc6", "libevent-2.1-7", "zlib1g", "python3-six"}
	if got := libraryDepends(output); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAnUnavailableDownloadIsNotTriedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sid")
	if Downloaded(dir) {
		t.Error("nothing counts as a download")
	}
	if err := MarkUnavailable(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Packages(dir); !Downloaded(dir) || err != nil || len(got) > 0 {
		t.Errorf("packages are %v, %v", got, err)
	}
}
