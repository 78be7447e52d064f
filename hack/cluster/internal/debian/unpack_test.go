package debian

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pack makes a package of the name with programs, and returns its file.
func pack(t *testing.T, name string, programs ...string) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{"DEBIAN/control": "Package: " + name + "\nVersion: 1.2\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: a test\n"}
	for _, program := range programs {
		files["usr/bin/"+program] = "#!/bin/sh\n"
	}
	for path, content := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
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

func TestProgramsAreUnpackedAsAWholeOrNotAtAll(t *testing.T) {
	programs := Programs{Package: "tools", Names: []string{"one", "two"}, Folder: "usr/bin"}
	root := filepath.Join(t.TempDir(), "bin", "tools")
	if err := programs.Unpack([]string{pack(t, "tools", "one")}, root); err == nil || !strings.Contains(err.Error(), "one and two") {
		t.Errorf("a package without the second program: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(root), "*")); len(left) > 0 || programs.Unpacked(root) {
		t.Errorf("left behind: %v", left)
	}
	if err := programs.Unpack([]string{pack(t, "libraries", "three"), pack(t, "tools", "one", "two")}, root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(programs.Dir(root), "three")); err != nil || !programs.Unpacked(root) {
		t.Errorf("the programs or their libraries are not there: %v", err)
	}
	if err := programs.Unpack([]string{pack(t, "tools", "one", "two")}, root); err != nil {
		t.Errorf("a run that comes second fails: %v", err)
	}
}

func TestPackagedNamesThePackageOfEachProgram(t *testing.T) {
	for name, holder := range map[string]string{"prometheus": "prometheus", "promtool": "prometheus", "pymemcache": "python3-pymemcache"} {
		if programs, ok := Packaged[name]; !ok || programs.Package != holder {
			t.Errorf("%s is of %q, %t", name, programs.Package, ok)
		}
	}
	for name, programs := range Packaged {
		if !slices.Contains(programs.Names, name) {
			t.Errorf("%s is not among the programs of its package: %v", name, programs.Names)
		}
	}
	if _, ok := Packaged["kubectl"]; ok {
		t.Error("kubectl is built, and in no package")
	}
}
