package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// worksTimeout is how long an engine may take to say that it works.
const worksTimeout = 10 * time.Second

// ErrNoEngine says that no engine works on this machine.
var ErrNoEngine = errors.New("no image builder works here: install buildah (Debian: apt-get install buildah), podman, or docker with a running engine")

// Request describes an image to build.
type Request struct {
	// Dockerfile and Context are paths. The build has access only to files below Context.
	Dockerfile, Context string
	// Args are build arguments.
	Args map[string]string
}

// Engine builds images from Dockerfiles. The images of different engines differ in timestamps, compression and history.
type Engine interface {
	// Name is the name of the program.
	Name() string
	// Works returns an error if the engine cannot build now.
	Works(ctx context.Context) error
	// Build returns the image, complete in memory. It leaves nothing behind.
	Build(ctx context.Context, request Request) (v1.Image, error)
}

// Detect returns the engine of that name, or the first that works if the name is empty. If none works, the error is
// ErrNoEngine with the reason of each.
func Detect(ctx context.Context, name string) (Engine, error) {
	candidates := []Engine{container{program: "docker"}, container{program: "podman"}, buildah{}}
	if name != "" {
		i := slices.IndexFunc(candidates, func(e Engine) bool { return e.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown builder %q: choose docker, podman or buildah", name)
		}
		candidates = candidates[i : i+1]
	}
	var reasons []string
	for _, candidate := range candidates {
		probe, cancel := context.WithTimeout(ctx, worksTimeout)
		err := candidate.Works(probe)
		cancel()
		if err == nil {
			return candidate, nil
		}
		reasons = append(reasons, candidate.Name()+": "+err.Error())
	}
	return nil, fmt.Errorf("%w (%s)", ErrNoEngine, strings.Join(reasons, "; "))
}

// run runs a program. The error has the last line of its output, which is where engines say what went wrong.
func run(ctx context.Context, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return errors.New("not installed")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "BUILDX_NO_DEFAULT_ATTESTATIONS=1")
	if output, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		return fmt.Errorf("%s %s: %w: %s", program, args[0], err, strings.TrimSpace(lines[len(lines)-1]))
	}
	return nil
}

// buildArgs returns the arguments of a build, which are the same for all engines.
func buildArgs(request Request, tag string) []string {
	args := []string{"--file", request.Dockerfile, "--tag", tag}
	for _, name := range slices.Sorted(maps.Keys(request.Args)) {
		args = append(args, "--build-arg", name+"="+request.Args[name])
	}
	return append(args, request.Context)
}

// readArchive calls build with a temporary directory, and returns the image in the archive that build writes there.
func readArchive(build func(dir, archive string) error) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "memcached-operator-image-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for the build: %w", err)
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "image.tar")
	if err := build(dir, archive); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(archive) // The archive is deleted with the directory.
	if err != nil {
		return nil, fmt.Errorf("read the image that was built: %w", err)
	}
	image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }, nil)
	if err != nil {
		return nil, fmt.Errorf("read the image that was built: %w", err)
	}
	return image, nil
}
