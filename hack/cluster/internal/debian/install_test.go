package debian

import (
	"os"
	"path/filepath"
	"testing"
)

func TestARequirementIsMetByAProgramInThePath(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	n := requirement{pkg: "some", file: "some-program"}
	if n.met() {
		t.Fatal("met by nothing")
	}
	if err := os.WriteFile(filepath.Join(bin, "some-program"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if !n.met() {
		t.Error("not met by the program")
	}
}
