package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMutations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "code.go")
	code := "package code\n\nimport \"fmt\"\n\nfunc f(a, b int) string {\n\tif a < b && true {\n\t\treturn \"x\" + fmt.Sprint(a+7)\n\t}\n\treturn \"\"\n}\n"
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := mutationsOf(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		changed, err := m.apply()
		if err != nil {
			t.Fatal(err)
		}
		before, after := strings.Split(code, "\n")[m.position.Line-1], strings.Split(string(changed), "\n")[m.position.Line-1]
		if before == after {
			t.Errorf("%s changes nothing", m)
		}
		got = append(got, strings.TrimSpace(after))
	}
	want := []string{
		"if !(a < b && true) {", "if a < b || true {", "if a <= b && true {", "if a < b && false {",
		`return "x" + fmt.Sprint(a-7)`, `return "x" + fmt.Sprint(a+8)`,
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("the changes are (-want +got):\n%s", difference)
	}
}

func TestPackagesThatDoNotExist(t *testing.T) {
	if _, err := list(t.Context(), []string{"./wrong"}); err == nil || !strings.Contains(err.Error(), "wrong: directory not found") {
		t.Errorf("the error is %v", err)
	}
}
