package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example/memcached-operator/hack/internal/build"
)

// program writes a shell script to the only directory of PATH.
func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func path(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	return dir
}

func TestDetectSkipsADockerClientWithoutEngine(t *testing.T) {
	dir := path(t)
	program(t, dir, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1\n")
	program(t, dir, "buildah", "exit 0\n")
	got, err := build.Detect(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got.Name() != "buildah" {
		t.Errorf("got %s, want buildah", got.Name())
	}
}

func TestDetectSaysWhatToInstall(t *testing.T) {
	program(t, path(t), "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1\n")
	_, err := build.Detect(t.Context(), "")
	if !errors.Is(err, build.ErrNoEngine) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"apt-get install buildah", "docker: docker info: exit status 1: Cannot connect", "podman: not installed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Error("the message has more than one line")
	}
}

func TestDetectRefusesAnUnknownEngine(t *testing.T) {
	if _, err := build.Detect(t.Context(), "kaniko"); err == nil || !strings.Contains(err.Error(), `"kaniko"`) {
		t.Errorf("got %v", err)
	}
}

func TestContainerEngineBuildsSavesAndCleansUp(t *testing.T) {
	dir := path(t)
	saved := filepath.Join(dir, "saved.tar")
	tag, err := name.NewTag("localhost/x:y")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(saved, tag, empty.Image); err != nil {
		t.Fatal(err)
	}
	// "podman save --output FILE TAG" is the only call that has to do something.
	program(t, dir, "podman", `echo "$@" >> `+dir+`/calls; [ "$1" != save ] || /bin/cp `+saved+` "$3"`+"\n")
	podman, err := build.Detect(t.Context(), "podman")
	if err != nil {
		t.Fatal(err)
	}
	image, err := podman.Build(t.Context(), build.Request{
		Dockerfile: "/src/Dockerfile", Context: "/ctx", Args: map[string]string{"VERSION": "1", "A": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := image.Digest(); err != nil {
		t.Errorf("the image cannot be read after the build: %v", err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(calls)), "\n")
	if len(lines) != 4 {
		t.Fatalf("calls of podman:\n%s", calls)
	}
	if !strings.HasPrefix(lines[1], "build --file /src/Dockerfile --tag localhost/") || !strings.HasSuffix(lines[1], "--build-arg A=2 --build-arg VERSION=1 /ctx") {
		t.Errorf("build: %s", lines[1])
	}
	if !strings.HasPrefix(lines[3], "rmi localhost/") {
		t.Errorf("the image is left behind: %s", lines[3])
	}
}

func TestFailedBuildShowsTheLastLine(t *testing.T) {
	program(t, path(t), "buildah", "[ \"$1\" = version ] && exit 0; echo step 1 >&2; echo 'COPY failed: no manager' >&2; exit 125\n")
	buildah, err := build.Detect(t.Context(), "buildah")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := buildah.Build(t.Context(), build.Request{}); err == nil || !strings.Contains(err.Error(), "COPY failed: no manager") {
		t.Errorf("got %v", err)
	}
}
