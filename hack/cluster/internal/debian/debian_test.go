package debian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMachineMirrorReadsBothFormats(t *testing.T) {
	for name, test := range map[string]struct{ file, content, want string }{
		"one line": {
			"sources.list", "# deb http://old.example bookworm main\ndeb [signed-by=/x.gpg] http://mirror.example/debian bookworm main\n", "http://mirror.example/debian",
		},
		"one line, of another suite only": {
			"sources.list", "deb http://mirror.example/security bookworm-security main\n", "",
		},
		"deb822": {
			"sources.list.d/debian.sources",
			"Types: deb\n# a comment: with a colon\nURIs: http://mirror.example/security\nSuites: bookworm-security\n\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n",
			"http://mirror.example/debian",
		},
		"deb822, disabled": {
			"sources.list.d/debian.sources", "Enabled: no\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\n", "",
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
			got, err := machineMirror(etc, "bookworm")
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

func TestMergedReturnsPathsOfMergedUsr(t *testing.T) {
	for name, want := range map[string]string{
		"./lib/x86_64-linux-gnu/libc.so.6": "/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2":      "/usr/lib64/ld-linux-x86-64.so.2",
		"./usr/bin/memcached":              "/usr/bin/memcached",
		"./bin/sh":                         "/usr/bin/sh",
		"./library/x":                      "/library/x",
	} {
		if got := merged(name); got != want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
}

func TestClosureTakesAProgramWithItsLoaderAndLibraries(t *testing.T) {
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	interpreter, libraries, err := needs(program)
	if err != nil {
		t.Fatal(err)
	}
	packages := tree{files: map[string][]byte{"/usr/bin/sh": program}, links: map[string]string{}}
	static := []byte(minimalELF)
	if interpreter != "" {
		packages.links[merged(interpreter)] = "/usr/lib/real-loader"
		packages.files["/usr/lib/real-loader"] = static
	}
	for _, library := range libraries {
		packages.links["/usr/lib/triplet/"+library] = "/usr/lib/triplet/real-" + library
		packages.files["/usr/lib/triplet/real-"+library] = static
	}
	got, err := packages.closure("/usr/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	want := 1 + len(libraries)
	if interpreter != "" {
		want++
	}
	if len(got) != want {
		t.Errorf("took %d files, want %d", len(got), want)
	}
	for _, library := range libraries {
		delete(packages.links, "/usr/lib/triplet/"+library)
		if _, err := packages.closure("/usr/bin/sh"); err == nil || !strings.Contains(err.Error(), library) {
			t.Errorf("without %s the error is %v", library, err)
		}
	}
}

// minimalELF is the header of a 64-bit little-endian ELF file without segments.
const minimalELF = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x03\x00\x3e\x00\x01\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"

func TestOnlyACompleteDownloadCounts(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "memcached_1.6.18-1_amd64.deb")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if Downloaded(dir) {
		t.Error("files without an index count")
	}
	if err := writeIndex(dir, []string{file}); err != nil {
		t.Fatal(err)
	}
	if got, err := Packages(dir); err != nil || !slices.Equal(got, []string{file}) {
		t.Errorf("packages are %v, %v", got, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if Downloaded(dir) {
		t.Error("an index without its files counts")
	}
	if err := MarkUnavailable(dir); err != nil {
		t.Fatal(err)
	}
	if !Downloaded(dir) {
		t.Error("an unavailable release is tried again")
	}
}
