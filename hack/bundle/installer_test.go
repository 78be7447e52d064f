package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/project"
)

// Who applies olm/v1 gets the newest release, or the one that is about to be released.
func TestTheClusterExtensionNamesTheNewestRelease(t *testing.T) {
	root := testkit.Must(checkout.Root())(t)
	var extension struct {
		Spec struct {
			Source struct {
				Catalog struct {
					Version string
				}
			}
		}
	}
	if err := yaml.Unmarshal(testkit.Must(os.ReadFile(filepath.Join(root, "olm", "v1", "30-clusterextension.yaml")))(t), &extension); err != nil {
		t.Fatal(err)
	}
	newest := testkit.Must(record.Load(root))(t).Last().Version
	if got := extension.Spec.Source.Catalog.Version; !slices.Contains([]string{newest, project.Version}, got) {
		t.Errorf("the ClusterExtension installs %s; the newest release is %s", got, newest)
	}
}

func TestTheInstallerIsWrittenAndChecked(t *testing.T) {
	source, root := testkit.Must(checkout.Root())(t), t.TempDir()
	dir := project.BundleDir(project.Version)
	files := testkit.Must(checkout.ReadFiles(filepath.Join(source, dir)))(t)
	testkit.Must(files.Write(filepath.Join(root, dir)))(t)
	if err := os.MkdirAll(filepath.Join(root, "olm", "v1"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	if err := writeInstaller(cmd, root); err != nil || out.String() != "wrote "+installerFile+"\n" {
		t.Fatalf("%v; printed %q", err, out.String())
	}
	if err := checkInstaller(root); err != nil {
		t.Error(err)
	}
	file := filepath.Join(root, filepath.FromSlash(installerFile))
	if err := os.WriteFile(file, append(testkit.Must(os.ReadFile(file))(t), "# edited\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := checkInstaller(root); err == nil || !strings.Contains(err.Error(), installerFile) {
		t.Errorf("an edited file: %v", err)
	}
}
