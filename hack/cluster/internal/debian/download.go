package debian

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Download downloads a package of a release, and the libraries that it depends on, to dir, which appears when all are there.
// Default of release: the machine's.
func Download(ctx context.Context, name, release, dir string) error {
	return host.MakeDir(dir, func(temporary string) error {
		apt, err := newApt(ctx, release, temporary)
		if err != nil {
			return err
		}
		if _, err := apt.run(ctx, "apt-get", "update"); err != nil {
			return err
		}
		packages, err := apt.libraries(ctx, name)
		if err != nil {
			return err
		}
		if _, err := apt.run(ctx, "apt-get", append([]string{"download"}, packages...)...); err != nil {
			return err
		}
		return os.RemoveAll(apt.state)
	})
}

// MarkUnavailable records with an empty folder that a download is impossible, so that it is not tried again at every start.
func MarkUnavailable(dir string) error { return os.MkdirAll(dir, 0o755) }

// Downloaded reports whether dir holds a download, or is marked as unavailable.
func Downloaded(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// Packages returns the files of a download, none of one that is unavailable.
func Packages(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "*.deb")) }

// apt runs apt with its own source and state, so that those of the machine do not change.
type apt struct {
	dir, state string
}

func newApt(ctx context.Context, release, dir string) (apt, error) {
	source, err := sourceFor(ctx, release)
	if err != nil {
		return apt{}, err
	}
	a := apt{dir: dir, state: filepath.Join(dir, "apt")}
	for _, folder := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.state, folder), 0o755); err != nil {
			return apt{}, fmt.Errorf("make apt's folders: %w", err)
		}
	}
	return a, host.WriteFile(filepath.Join(a.state, "sources.list"), []byte(source), host.Public)
}

func (a apt) run(ctx context.Context, program string, args ...string) (string, error) {
	options := []string{
		"-qq",
		"-o", "Dir::Etc::sourcelist=" + filepath.Join(a.state, "sources.list"),
		"-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::State::Lists=" + filepath.Join(a.state, "lists"),
		"-o", "Dir::State::status=/dev/null", // no package is installed
		"-o", "Dir::Cache=" + filepath.Join(a.state, "cache"),
		"-o", "Acquire::Languages=none",
		"-o", "APT::Sandbox::User=root",
		"-o", "APT::Update::Error-Mode=any",
		"-o", "Acquire::Retries=1",
		"-o", "Acquire::http::Timeout=20",
		"-o", "Acquire::https::Timeout=20",
	}
	cmd := exec.CommandContext(ctx, program, append(options, args...)...)
	cmd.Dir = a.dir
	output, err := process.Run(cmd)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	return output, nil
}

// libraries returns the package and every library that it depends on, directly or through other libraries. It leaves out
// the programs that only the installation of the packages needs.
func (a apt) libraries(ctx context.Context, root string) ([]string, error) {
	known := []string{root}
	for level := known; len(level) > 0; {
		output, err := a.run(ctx, "apt-cache", append([]string{"depends", "--important"}, level...)...)
		if err != nil {
			return nil, err
		}
		level = nil
		for _, dependency := range libraryDepends(output) {
			if !slices.Contains(known, dependency) {
				known = append(known, dependency)
				level = append(level, dependency)
			}
		}
	}
	return known, nil
}

var library = regexp.MustCompile(`^(lib|zlib|python3-)`)

// libraryDepends picks shared libraries and Python modules from the output of `apt-cache depends`. Libraries of web pages
// (libjs-...) are left out.
func libraryDepends(output string) []string {
	var found []string
	for line := range strings.Lines(output) {
		name, ok := strings.CutPrefix(strings.TrimLeft(line, " |"), "Depends: ")
		name = strings.TrimSpace(name)
		if ok && library.MatchString(name) && !strings.HasPrefix(name, "libjs-") {
			found = append(found, name)
		}
	}
	return found
}
