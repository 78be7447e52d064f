// Package builder builds an image from a Dockerfile with whichever of docker, podman and buildah works on this
// machine. What comes out differs from one to the next in timestamps, compression and history; making it the same
// is the business of package canonical.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// probeTime is how long a builder may take to say that it works. An engine that does not answer in this time would
// not build anything useful either.
const probeTime = 10 * time.Second

// ErrNoEngine says that no builder works on this machine.
var ErrNoEngine = errors.New("no image builder works here: install buildah (Debian: apt-get install buildah), podman, or docker with a running engine")

// Request is one image to build.
type Request struct {
	// Dockerfile and Context are paths; the build sees nothing outside Context.
	Dockerfile, Context string
	// Args are build arguments.
	Args map[string]string
}

// Engine builds images.
type Engine interface {
	// Name is the program's name, for people.
	Name() string
	// Works says whether it can build now; the error says why not.
	Works(ctx context.Context) error
	// Build returns the image, complete in memory. Nothing of it is left behind.
	Build(ctx context.Context, request Request) (v1.Image, error)
}

// Detect returns the first builder that works, or the one of the given name. None that works is ErrNoEngine, with what
// stands in the way of each.
func Detect(ctx context.Context, name string) (Engine, error) {
	candidates := []Engine{container{program: "docker"}, container{program: "podman"}, buildah{}}
	if name != "" {
		i := slices.IndexFunc(candidates, func(b Engine) bool { return b.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown builder %q: choose docker, podman or buildah", name)
		}
		candidates = candidates[i : i+1]
	}
	var reasons []string
	for _, candidate := range candidates {
		probe, cancel := context.WithTimeout(ctx, probeTime)
		err := candidate.Works(probe)
		cancel()
		if err == nil {
			return candidate, nil
		}
		reasons = append(reasons, candidate.Name()+": "+err.Error())
	}
	return nil, fmt.Errorf("%w (%s)", ErrNoEngine, strings.Join(reasons, "; "))
}

// run runs a program and returns what it wrote when it fails.
func run(ctx context.Context, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return errors.New("not installed")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "BUILDX_NO_DEFAULT_ATTESTATIONS=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, args[0], err, lastLine(output.String()))
	}
	return nil
}

// lastLine is where a program says what went wrong.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// buildArgs are the arguments that all three understand.
func buildArgs(request Request, tag string) []string {
	args := []string{"--file", request.Dockerfile, "--tag", tag}
	for _, name := range sortedKeys(request.Args) {
		args = append(args, "--build-arg", name+"="+request.Args[name])
	}
	return append(args, request.Context)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// inScratch calls do with a temporary directory and reads the image archive that do has written there.
func inScratch(do func(dir, archive string) error) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "memcached-operator-image-")
	if err != nil {
		return nil, fmt.Errorf("make room for the build: %w", err)
	}
	defer os.RemoveAll(dir) // Below the system's temporary directory, which is swept anyway.
	archive := filepath.Join(dir, "image.tar")
	if err := do(dir, archive); err != nil {
		return nil, err
	}
	// The archive is deleted with the directory, so everything must be read now.
	content, err := os.ReadFile(archive)
	if err != nil {
		return nil, fmt.Errorf("read the image that was built: %w", err)
	}
	image, err := tarball.Image(opener(content), nil)
	if err != nil {
		return nil, fmt.Errorf("read the image that was built: %w", err)
	}
	return image, nil
}
