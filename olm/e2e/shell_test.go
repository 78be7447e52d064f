//go:build e2e

package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/pages"
)

// section returns the code in a section of a page of the checkout.
func section(t *testing.T, page, heading string) []pages.Code {
	t.Helper()
	code, err := pages.Section(filepath.Join(suite.root, page), heading)
	must(t, err)
	return code
}

// one returns the only code with these words.
func one(t *testing.T, code []pages.Code, words string) string {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(code), func(c pages.Code) bool { return !strings.Contains(c.Text, words) })
	if len(found) != 1 {
		t.Fatalf("%d pieces of code have %q in %+v", len(found), words, code)
	}
	return found[0].Text
}

// shell runs commands as a person does at the root of the checkout.
type shell struct {
	t      *testing.T
	folder string
}

// newShell returns a shell that has kubectl, and the pages' files where they say.
func newShell(t *testing.T) shell {
	t.Helper()
	s := shell{t: t, folder: t.TempDir()}
	stage := filepath.Join(s.folder, ".cache", "memcached-operator", "stage")
	must(t, errors.Join(os.Mkdir(filepath.Join(s.folder, "bin"), 0o700), os.MkdirAll(filepath.Dir(stage), 0o700)))
	must(t, os.Symlink(suite.cluster.KubectlPath, filepath.Join(s.folder, "bin", "kubectl")))
	must(t, os.Symlink(filepath.Join(suite.root, "olm"), filepath.Join(s.folder, "olm")))
	must(t, os.Symlink(filepath.Dir(suite.manifests), stage))
	config, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	must(t, err)
	must(t, os.WriteFile(s.kubeconfig(), config, 0o600))
	return s
}

func (s shell) kubeconfig() string { return filepath.Join(s.folder, "kubeconfig") }

func (s shell) in(t *testing.T) shell { return shell{t: t, folder: s.folder} }

// run runs a script, and fails the test at the first command that fails.
func (s shell) run(script string) string {
	s.t.Helper()
	out, err := s.try(script, "-euo", "pipefail")
	if err != nil {
		s.t.Fatalf("%v:\n%s\n%s", err, script, out)
	}
	return out
}

// try runs a script with options of bash, and ends what it has started in the background.
func (s shell) try(script string, options ...string) (string, error) {
	s.t.Helper()
	// What runs in the background may keep its output open.
	file, err := os.Create(filepath.Join(s.t.TempDir(), "output"))
	must(s.t, err)
	defer func() { must(s.t, file.Close()) }()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", append(options, "-c", script)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.folder, file, file
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig(), "HOME="+s.folder, "PATH="+filepath.Join(s.folder, "bin")+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(s.t, cmd.Start())
	failed := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // There may be nothing left of the group.
	out, err := os.ReadFile(file.Name())
	must(s.t, err)
	return string(out), failed
}

// apply applies a manifest on a page.
func (s shell) apply(manifest string) {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.folder, "manifest.yaml"), []byte(manifest), 0o600))
	s.run("kubectl apply -f manifest.yaml")
}
