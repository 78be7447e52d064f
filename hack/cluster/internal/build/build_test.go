package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tiny is a tool that builds quickly.
func tiny(t *testing.T) (Builder, Tool) {
	t.Helper()
	b := Builder{Tools: t.TempDir(), Bin: filepath.Join(t.TempDir(), "bin")}
	write(t, b, "go.mod", "module example.com/tiny\n\ngo 1.26.0\n")
	write(t, b, "main.go", "package main\n\nfunc main() { println(\"hello\") }\n")
	return b, Tool{Module: "tiny", Packages: []string{"."}, Links: []string{"alias"}, LDFlags: "-s -w"}
}

func write(t *testing.T, b Builder, name, content string) {
	t.Helper()
	path := filepath.Join(b.Tools, "tiny", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBuildMakesProgramsAndTheirLinks(t *testing.T) {
	b, tool := tiny(t)
	if err := b.Build(t.Context(), tool); err != nil {
		t.Fatal(err)
	}
	dir, err := b.Dir(tool)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range tool.Programs() {
		output, err := exec.Command(filepath.Join(dir, program)).CombinedOutput()
		if err != nil || string(output) != "hello\n" {
			t.Errorf("%s: %q, %v", program, output, err)
		}
	}
	if missing, err := b.Missing(tool); missing || err != nil {
		t.Errorf("missing %v, %v after the build", missing, err)
	}
}

func TestAChangedModuleIsBuiltAgain(t *testing.T) {
	b, tool := tiny(t)
	before, err := b.Dir(tool)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, "go.sum", "something new")
	if after, err := b.Dir(tool); err != nil || after == before {
		t.Errorf("the folder is still %s (%v)", after, err)
	}
}

func TestAChangedPackageBelowTheModuleIsBuiltAgain(t *testing.T) {
	b, tool := tiny(t)
	tool.Packages = []string{"./sub"}
	write(t, b, "sub/main.go", "package main\n\nfunc main() {}\n")
	before, err := b.Dir(tool)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, "sub/main.go", "package main\n\nfunc main() { println() }\n")
	if after, err := b.Dir(tool); err != nil || after == before {
		t.Errorf("the folder is still %s (%v)", after, err)
	}
}

func TestAFailedBuildShowsTheErrorAndLeavesNothing(t *testing.T) {
	b, tool := tiny(t)
	write(t, b, "main.go", "package main\n\nfunc main() { undefinedThing() }\n")
	err := b.Build(t.Context(), tool)
	if err == nil || !strings.Contains(err.Error(), "undefinedThing") {
		t.Errorf("error is %v", err)
	}
	if left, _ := os.ReadDir(b.Bin); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFindFindsEveryProgramInOneTool(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range Tools() {
		for _, program := range tool.Programs() {
			if seen[program] {
				t.Errorf("%s belongs to two tools", program)
			}
			seen[program] = true
			if found, err := Find(program); err != nil || found.Module != tool.Module {
				t.Errorf("%s is found in %q (%v)", program, found.Module, err)
			}
		}
	}
	if _, err := Find("helm"); err == nil || !strings.Contains(err.Error(), "operator-sdk") {
		t.Errorf("an unknown name gives %v, which does not list the known ones", err)
	}
}
