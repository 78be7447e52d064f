package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/project"
)

func digest(digit string) string { return "@sha256:" + strings.Repeat(digit, 64) }

var (
	official = project.OperandRepository + digest("1")
	newer    = project.OperandRepository + digest("2")
	standIn  = project.OperandRepository + digest("a")
	mirrored = "registry.example.com:5000/cache/memcached" + digest("b")
)

func TestReplaceChangesOnlyOperandReferences(t *testing.T) {
	other := "quay.io/example/memcached-operator" + digest("1")
	content := "a: " + official + "\nb: " + other + "\n\tc: \"" + newer + "\" # " + official + "\r\nd: docker.io/library/memcached:1.6.18\xff\n"
	want := "a: " + standIn + "\nb: " + other + "\n\tc: \"" + mirrored + "\" # " + standIn + "\r\nd: docker.io/library/memcached:1.6.18\xff\n"
	got, err := project.StandIns{official: standIn, newer: mirrored}.Replace([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestReplaceWithoutStandInsChangesNothing(t *testing.T) {
	got, err := project.StandIns(nil).Replace([]byte(official))
	if err != nil || string(got) != official {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestReplaceNamesOperandsWithoutStandIn(t *testing.T) {
	_, err := project.StandIns{official: standIn}.Replace([]byte(official + " " + newer))
	if err == nil || !strings.Contains(err.Error(), newer) || strings.Contains(err.Error(), official) {
		t.Errorf("got %v", err)
	}
}

func TestLoadStandIns(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"a map":                {`{"` + official + `": "` + standIn + `"}`, ""},
		"not JSON":             {`nonsense`, "a JSON object of strings"},
		"a reference by tag":   {`{"` + official + `": "docker.io/library/memcached:1"}`, "by digest"},
		"not even a reference": {`{"memcached": "` + standIn + `"}`, "by digest"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "map.json")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := project.LoadStandIns(path)
			switch {
			case test.want == "" && (err != nil || m[official] != standIn):
				t.Errorf("got %v, %v", m, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path)):
				t.Errorf("got %v, want an error with %q and the file's name", err, test.want)
			}
		})
	}
	if m, err := project.LoadStandIns(""); m != nil || err != nil {
		t.Errorf("no file: %v, %v", m, err)
	}
	if _, err := project.LoadStandIns("/nowhere"); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func TestLinesAreSorted(t *testing.T) {
	lines := project.StandIns{newer: mirrored, official: standIn}.Lines()
	if len(lines) != 2 || lines[0] != official+" -> "+standIn || lines[1] != newer+" -> "+mirrored {
		t.Errorf("got %q", lines)
	}
}
