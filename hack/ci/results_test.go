package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// collect runs the tests of a module with one file of this content, and returns what is printed and the error.
func collect(t *testing.T, content string, verbose, skippedFails bool) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n", "m_test.go": "package m\n" + content, "empty/empty.go": "package empty\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	results := newResults(&out, verbose)
	failed := run(t.Context(), dir, []string{"./..."}, results)
	results.table(&out)
	if err := results.err(skippedFails); err != nil {
		return out.String(), err
	}
	return out.String(), failed
}

const tests = `
import "testing"
func TestGood(t *testing.T) { t.Log("said by the good one") }
func TestParent(t *testing.T) { t.Run("child", func(t *testing.T) { t.Skip("not here") }) }
`

func TestResultsOfGoTest(t *testing.T) {
	for name, test := range map[string]struct {
		content           string
		verbose, skipped  bool
		err               string
		contains, without []string
	}{
		"skipped tests are allowed": {
			content: tests, contains: []string{"ok  \texample.com/m", "pass example.com/m", "skipped: example.com/m TestParent/child", "2 passed, 0 failed, 1 skipped"},
			without: []string{"said by the good one", "empty TestGood"},
		},
		"skipped tests fail where they must not be": {content: tests, skipped: true, err: "1 tests were skipped", contains: []string{"2 passed, 0 failed, 1 skipped"}},
		"the output of a failed test is printed": {
			content: tests + `func TestBad(t *testing.T) { t.Error("said by the bad one") }`, err: "1 tests failed",
			contains: []string{"said by the bad one", "failed: example.com/m TestBad", "2 passed, 1 failed, 1 skipped"}, without: []string{"said by the good one"},
		},
		"the output of every test is printed": {content: tests, verbose: true, contains: []string{"=== RUN   TestGood", "said by the good one"}},
		"code that is not built fails":        {content: "func", err: "1 tests failed", contains: []string{"m_test.go", "failed: example.com/m\n", "0 passed, 1 failed, 0 skipped"}},
		"a process that dies fails":           {content: `import ("os"; "testing"); func TestMain(*testing.M) { os.Exit(3) }`, err: "1 tests failed", contains: []string{"exit status 3"}},
		"no test at all fails":                {content: "", err: "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := collect(t, test.content, test.verbose, test.skipped)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error is %v, want %q", err, test.err)
			}
			for _, part := range test.contains {
				if !strings.Contains(out, part) {
					t.Errorf("%q is missing in:\n%s", part, out)
				}
			}
			for _, part := range test.without {
				if strings.Contains(out, part) {
					t.Errorf("%q is in:\n%s", part, out)
				}
			}
		})
	}
}
