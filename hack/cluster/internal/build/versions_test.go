package build

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/modfile"
)

// A package that two programs need in the same version is compiled once. Two cores then compile CoreDNS after Kubernetes in 9 s instead of
// 69, OLM in 42 s instead of 170, and opm in 15 s instead of 68. To mend a difference, `go get` the newer version in the other module.
//
// The module of the operator may differ. controller-runtime decides which Kubernetes libraries it needs, and these may be newer than the
// Kubernetes of the local cluster. What is then compiled twice takes at most 6 minutes of CPU, which is what the whole project takes after
// one with other versions.
func TestToolsAgreeOnTheVersionsOfModules(t *testing.T) {
	const root = "../../../.."
	kube := versions(t, filepath.Join(root, "hack/tools", Kube.Module))
	for _, folder := range []string{
		"hack/tools/" + CoreDNS.Module, "hack/tools/" + OLM.Module, "hack/tools/" + OPM.Module,
		"hack/tools/" + NetworkPolicies.Module, "hack/cluster",
	} {
		for module, version := range versions(t, filepath.Join(root, folder)) {
			if other, shared := kube[module]; shared && other != version {
				t.Errorf("%s: %s has %s, hack/tools/%s has %s", module, folder, version, Kube.Module, other)
			}
		}
	}
}

// versions returns the version of each module that a go.mod file lists, after its replacements.
func versions(t *testing.T, folder string) map[string]string {
	t.Helper()
	path := filepath.Join(folder, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(path, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, require := range file.Require {
		all[require.Mod.Path] = require.Mod.Version
	}
	for _, replace := range file.Replace {
		if _, listed := all[replace.Old.Path]; listed {
			all[replace.Old.Path] = replace.New.Version
		}
	}
	return all
}
