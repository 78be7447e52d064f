package debian

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// index lists the downloaded packages in their folder. It is written last: a download without it is incomplete.
const index = "packages.json"

// Download downloads a package of a release, and the libraries that it depends on, to dir. Default of release: the machine's.
func Download(ctx context.Context, name, release, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear %s: %w", dir, err)
	}
	apt, err := newApt(ctx, release, dir)
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
	if err := os.RemoveAll(apt.state); err != nil {
		return fmt.Errorf("remove apt's state: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no package for %s of %s was downloaded to %s: %w", name, release, dir, err)
	}
	return writeIndex(dir, files)
}

// MarkUnavailable records that a download is impossible, so that it is not tried again at every start.
func MarkUnavailable(dir string) error { return writeIndex(dir, nil) }

func writeIndex(dir string, files []string) error {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(file)
	}
	data, err := json.MarshalIndent(names, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the list of packages: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, index), data, 0o644); err != nil {
		return fmt.Errorf("write the list of packages: %w", err)
	}
	return nil
}

// Packages returns the files of a complete download, none of one that is unavailable, and nil of one that is incomplete.
func Packages(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, index))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of packages: %w", err)
	}
	var files []string
	if json.Unmarshal(data, &files) != nil {
		return nil, nil
	}
	for i, file := range files {
		files[i] = filepath.Join(dir, file)
		if _, err := os.Stat(files[i]); err != nil {
			return nil, nil //nolint:nilerr // incomplete: download again
		}
	}
	return files, nil
}

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
	for file, content := range map[string]string{"sources.list": source, "status": ""} {
		if err := host.WriteFile(filepath.Join(a.state, file), []byte(content), host.Public); err != nil {
			return apt{}, err
		}
	}
	return a, nil
}

func (a apt) run(ctx context.Context, program string, args ...string) (string, error) {
	options := []string{
		"-qq",
		"-o", "Dir::Etc::sourcelist=" + filepath.Join(a.state, "sources.list"),
		"-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::State::Lists=" + filepath.Join(a.state, "lists"),
		"-o", "Dir::State::status=" + filepath.Join(a.state, "status"),
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

// Downloaded reports whether dir holds a complete download, or is marked as unavailable.
func Downloaded(dir string) bool {
	files, err := Packages(dir)
	return err == nil && files != nil
}
