package upgrades_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func fine(from, to, kind, stage string) upgrades.Step {
	return upgrades.Step{
		From: from, To: to, Kind: kind, Stage: stage, Took: 23400 * time.Millisecond, Requests: 4210, Slowest: 12 * time.Millisecond,
		Items: 500, Pods: 5, Resources: 2,
	}
}

func matrix() upgrades.Matrix {
	noticed := fine("0.3.0", "0.4.0", "skipRange", "made up")
	noticed.Failed, noticed.Lost, noticed.Recreated, noticed.Restarted, noticed.Changed, noticed.Templates = 17, 100, 1, 2, 1, 1
	return upgrades.Matrix{OLM: "0.46.0", Kubernetes: "v1.36.3", Walks: []upgrades.Walk{
		{Channels: []string{"candidate", "fast"}, Steps: []upgrades.Step{
			fine("0.1.0", "0.2.0", "replaces", "released"), fine("0.2.0", "0.3.0", "skips", "under development"), noticed,
		}},
		{Channels: []string{"<beta>"}, Steps: []upgrades.Step{fine("0.2.0", "0.3.0", "replaces", "released")}},
	}}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; write it with -update):\n%s", path, diff)
	}
}

func TestThePageHasARowForEachUpgrade(t *testing.T) {
	golden(t, "upgrades.md", upgrades.Markdown(matrix(), "upgrades.svg"))
}

func TestThePictureShowsEachRoute(t *testing.T) {
	golden(t, "upgrades.svg", upgrades.Picture(matrix()))
}

// A long walk goes on in the next line, with the version at which the line before ends.
func TestThePictureWrapsALongWalk(t *testing.T) {
	long := upgrades.Matrix{Walks: []upgrades.Walk{{Channels: []string{"fast"}}}}
	for _, version := range []string{"1", "2", "3", "4"} {
		long.Walks[0].Steps = append(long.Walks[0].Steps, fine(version, version+"+", "replaces", "released"))
	}
	picture := string(upgrades.Picture(long))
	for _, part := range []string{">channel fast<", ">channel fast, continued<", ">installed<", ">4<"} {
		if strings.Count(picture, part) != 1 {
			t.Errorf("%s is there %d times, want once", part, strings.Count(picture, part))
		}
	}
}

func TestThePictureIsWellFormed(t *testing.T) {
	for name, m := range map[string]upgrades.Matrix{"nothing": {}, "routes": matrix()} {
		decoder := xml.NewDecoder(bytes.NewReader(upgrades.Picture(m)))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

func TestOnlyAnUpgradeThatIsMeasuredAndChangesNothingIsHarmless(t *testing.T) {
	if s := fine("a", "b", "replaces", ""); !s.Harmless() {
		t.Errorf("%+v is not harmless", s)
	}
	for name, change := range map[string]func(*upgrades.Step){
		"nothing was asked":       func(s *upgrades.Step) { s.Requests = 0 },
		"nothing was stored":      func(s *upgrades.Step) { s.Items = 0 },
		"there were no pods":      func(s *upgrades.Step) { s.Pods = 0 },
		"there were no resources": func(s *upgrades.Step) { s.Resources = 0 },
		"a request failed":        func(s *upgrades.Step) { s.Failed = 1 },
		"an item is lost":         func(s *upgrades.Step) { s.Lost = 1 },
		"a pod was recreated":     func(s *upgrades.Step) { s.Recreated = 1 },
		"a container restarted":   func(s *upgrades.Step) { s.Restarted = 1 },
		"a resource changed":      func(s *upgrades.Step) { s.Changed = 1 },
		"a template changed":      func(s *upgrades.Step) { s.Templates = 1 },
	} {
		s := fine("a", "b", "replaces", "")
		change(&s)
		if s.Harmless() {
			t.Errorf("%s, and it is harmless", name)
		}
	}
}
