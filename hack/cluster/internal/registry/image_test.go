package registry

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	memory "github.com/google/go-containerregistry/pkg/registry"
)

func sample(t *testing.T) Image {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Image{
		Names: []string{"docker.io/library/sample:1"}, User: "1001", Path: "/bin",
		Files: []File{
			{Path: "/tmp", Mode: sticky},
			{Path: "/bin/program", Source: program},
			{Path: "/bin/link", Link: "program"},
			{Path: "/etc/deep/file", Data: "text", Mode: plain},
		},
	}
}

func digest(t *testing.T, image Image) string {
	t.Helper()
	built, err := image.build(filepath.Join(t.TempDir(), "layer"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := built.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return sum.String()
}

func TestRootfsHasFoldersBeforeWhatIsInThem(t *testing.T) {
	var archive bytes.Buffer
	if err := writeRootfs(&archive, sample(t).Files); err != nil {
		t.Fatal(err)
	}
	var names []string
	for reader := tar.NewReader(&archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Name == "tmp/" && header.Mode != 0o1777 {
			t.Errorf("/tmp has mode %o", header.Mode)
		}
		if !header.ModTime.Equal(time.Unix(0, 0)) || header.Uid != 0 {
			t.Errorf("%s has a time or an owner: %v %d", header.Name, header.ModTime, header.Uid)
		}
	}
	want := []string{"bin/", "bin/link", "bin/program", "etc/", "etc/deep/", "etc/deep/file", "tmp/"}
	if !slices.Equal(names, want) {
		t.Errorf("entries are %v, want %v", names, want)
	}
}

func TestTheSameInputsGiveTheSameDigest(t *testing.T) {
	one, other := sample(t), sample(t) // in two folders, at two times
	slices.Reverse(other.Files)
	if a, b := digest(t, one), digest(t, other); a != b {
		t.Errorf("digests differ: %s and %s", a, b)
	}
	other.User = ""
	if digest(t, one) == digest(t, other) {
		t.Error("another user gives the same digest")
	}
}

func TestTheStopSignalReachesTheImage(t *testing.T) {
	image := sample(t)
	image.StopSignal = "SIGQUIT"
	built, err := image.build(filepath.Join(t.TempDir(), "layer"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := built.ConfigFile()
	if err != nil || file.Config.StopSignal != "SIGQUIT" {
		t.Errorf("configuration is %+v, %v", file, err)
	}
	with, err := image.recipe()
	if err != nil {
		t.Fatal(err)
	}
	image.StopSignal = ""
	if without, err := image.recipe(); err != nil || without == with {
		t.Errorf("the recipe is the same without it (%v): the image would not be built again", err)
	}
}

func TestTheRecipeFollowsItsInputs(t *testing.T) {
	image := sample(t)
	before, err := image.recipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image.Files[1].Source, []byte("changed content"), 0o600); err != nil {
		t.Fatal(err)
	}
	after, err := image.recipe()
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Error("a changed file gives the same recipe: the image would not be built again")
	}
}

func TestEnsureBuildsOnceAndAgainWhenTheRegistryLostIt(t *testing.T) {
	client, empty := testRegistry(t)
	image := sample(t)
	image.Names = []string{"docker.io/library/sample:1", "docker.io/library/sample:1-alias"}
	var loads int
	image.Load = func() ([]File, error) { loads++; return nil, nil }
	ensure := func() string {
		t.Helper()
		sum, err := client.Ensure(t.Context(), image)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := ensure()
	if ensure() != first || loads != 1 {
		t.Errorf("built %d times, want 1", loads)
	}
	empty()
	if ensure() != first || loads != 2 {
		t.Errorf("built %d times after the registry lost it, want 2", loads)
	}
	for _, name := range image.Names {
		if got, err := client.digest(t.Context(), name); err != nil || got != first {
			t.Errorf("%s is %q (%v), want %s", name, got, err, first)
		}
	}
}

// testRegistry serves an empty registry under the address of the local one. empty removes its images.
func testRegistry(t *testing.T) (client *Client, empty func()) {
	t.Helper()
	var handler http.Handler
	empty = func() { handler = memory.New(memory.Logger(log.New(io.Discard, "", 0))) }
	empty()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com"
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, server.Listener.Addr().String())
	}
	return &Client{transport: transport, records: t.TempDir()}, empty
}
