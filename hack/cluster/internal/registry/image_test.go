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
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	memory "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
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

// pack makes a package with an empty file at the path, and returns its file.
func pack(t *testing.T, name, path string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range map[string]string{
		"DEBIAN/control": "Package: " + name + "\nVersion: 1.2\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: a test\n",
		path:             "",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+"_1.2_all.deb")
	if output, err := exec.Command("dpkg-deb", "--build", root, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return file
}

func TestPackagesAreLayersAboveTheFiles(t *testing.T) {
	image := operandImage([]string{pack(t, "merged", "usr/lib/new.so"), pack(t, "unmerged", "lib/old.so")}, "user", "101")
	image.Files = slices.DeleteFunc(image.Files, func(f File) bool { return f.Source != "" }) // busybox of this machine
	built, err := image.build(filepath.Join(t.TempDir(), "layer"))
	if err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(built)
	defer content.Close()
	got := map[string]string{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[path.Clean(header.Name)] = header.Linkname
	}
	for name, link := range map[string]string{"bin": "usr/bin", "lib64": "usr/lib64", "lib": "", "lib/old.so": "", "usr/lib/new.so": "", "etc/passwd": ""} {
		if have, found := got[name]; !found || have != link {
			t.Errorf("%s: found %t, link %q, want %q", name, found, have, link)
		}
	}
}

func TestEnsureBuildsOnceAndAgainWhenTheRegistryLostIt(t *testing.T) {
	client, empty, pushed := testRegistry(t)
	image := sample(t)
	image.Names = []string{"docker.io/library/sample:1", "docker.io/library/sample:1-alias"}
	ensure := func() string {
		t.Helper()
		sum, err := client.Ensure(t.Context(), image)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := ensure()
	if ensure() != first || pushed.Load() != 2 {
		t.Errorf("pushed %d manifests, want one for each name", pushed.Load())
	}
	empty()
	if ensure() != first || pushed.Load() != 4 {
		t.Errorf("pushed %d manifests after the registry lost it, want 4", pushed.Load())
	}
	for _, name := range image.Names {
		if got, err := client.digest(t.Context(), name); err != nil || got != first {
			t.Errorf("%s is %q (%v), want %s", name, got, err, first)
		}
	}
}

// testRegistry serves an empty registry under the address of the local one. empty removes its images. pushed counts the
// manifests that were pushed.
func testRegistry(t *testing.T) (client *Client, empty func(), pushed *atomic.Int32) {
	t.Helper()
	pushed = &atomic.Int32{}
	var handler http.Handler
	empty = func() { handler = memory.New(memory.Logger(log.New(io.Discard, "", 0))) }
	empty()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			pushed.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com"
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, server.Listener.Addr().String())
	}
	return &Client{transport: transport, records: t.TempDir()}, empty, pushed
}
