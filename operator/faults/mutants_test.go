package faults_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/example/memcached-operator/operator/faults"
)

// Known bugs stay what they are while the code changes.
func TestMutantsApply(t *testing.T) {
	mutants, err := faults.ReadMutants(faults.Mutants)
	if err != nil || len(mutants) < 20 {
		t.Fatalf("%d known bugs: %v", len(mutants), err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			directory := t.TempDir()
			overlay, err := m.Overlay(root, directory)
			if err != nil {
				t.Fatal(err)
			}
			var patched []string
			err = filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
				if filepath.Ext(path) == ".go" {
					patched = append(patched, path)
				}
				return err
			})
			if err != nil || len(patched) == 0 {
				t.Fatalf("%v are patched: %v", patched, err)
			}
			build := exec.Command("go", "build", "-trimpath", "-overlay="+overlay)
			build.Dir = root
			for _, path := range patched {
				file, _ := filepath.Rel(directory, path)
				build.Args = append(build.Args, "./"+filepath.Dir(file))
				before, err1 := os.ReadFile(filepath.Join(root, file))
				after, err2 := os.ReadFile(path)
				if err1 != nil || err2 != nil || bytes.Equal(before, after) {
					t.Errorf("%s is as it was: %v, %v", file, err1, err2)
				}
			}
			if output, err := build.CombinedOutput(); err != nil {
				t.Errorf("it does not compile any more, so bring it up to date: %v\n%s", err, output)
			}
		})
	}
}
