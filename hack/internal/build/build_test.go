package build_test

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/project"
)

func TestTheImageOfTheOperatorHasTheAgentBesideIt(t *testing.T) {
	builder := build.Builder{
		Root: t.TempDir(), Engine: testkit.FakeEngine{},
		Compile: func(_ context.Context, _, pkg, output, version string, tags ...string) error {
			return os.WriteFile(output, []byte(strings.Join(append([]string{pkg, version}, tags...), " ")), 0o600)
		},
	}
	archive := mutate.Extract(testkit.Must(builder.Image(t.Context(), "operator", "1.2.3"))(t))
	defer archive.Close()
	got := map[string]string{}
	for files := tar.NewReader(archive); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[header.Name] = string(testkit.Must(io.ReadAll(files))(t))
	}
	want := map[string]string{"manager": "./operator 1.2.3", "agent": "./operator/agent/main 1.2.3 " + project.AgentTag}
	if !maps.Equal(got, want) {
		t.Errorf("the image has %v, want %v", got, want)
	}
}
