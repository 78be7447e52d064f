package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/internal/record"
)

func sample(versions ...string) *record.Record {
	r := &record.Record{}
	for _, v := range versions {
		r.Releases = append(r.Releases, record.Release{
			Version: v, Commit: "abc", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Go: "go1.26.8",
			OperatorImage: "o@sha256:1", ScorecardImage: "s@sha256:2", BundleImage: "b@sha256:3", Bundle: "sha256:4",
			Files: map[string]string{"a": "sha256:5"},
		})
	}
	return r
}

func TestLoadReturnsWhatSaveWrote(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "catalog"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := sample("0.1.0", "0.2.0")
	if err := want.Save(root); err != nil {
		t.Fatal(err)
	}
	got, err := record.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-saved +loaded:\n%s", diff)
	}
}

func TestMissingRecordHasNoReleases(t *testing.T) {
	got, err := record.Load(t.TempDir())
	if err != nil || got.Last() != nil || got.Find("0.1.0") != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestLookups(t *testing.T) {
	r := sample("0.1.0", "0.2.0", "0.10.0")
	for version, want := range map[string]string{"0.0.1": "", "0.1.0": "", "0.2.0": "0.1.0", "0.3.0": "0.2.0", "0.10.0": "0.2.0", "1.0.0": "0.10.0", "0.10.0-rc.1": "0.2.0"} {
		if got, err := r.Before(version); err != nil || got != want {
			t.Errorf("before %s: got %q, %v, want %q", version, got, err, want)
		}
	}
	if _, err := r.Before("v1"); err == nil {
		t.Error("v1 is accepted as a version")
	}
	if r.Last().Version != "0.10.0" || r.Find("0.2.0").Version != "0.2.0" || r.Find("0.3.0") != nil {
		t.Error("Last or Find returned another release")
	}
}

func TestParseRefusesADamagedRecord(t *testing.T) {
	for want, content := range map[string]string{
		"0.1.0 comes after 0.2.0":   "releases: [{version: 0.2.0}, {version: 0.1.0}]",
		"0.1.0 comes after 0.1.0":   "releases: [{version: 0.1.0}, {version: 0.1.0}]",
		`version "one"`:             "releases: [{version: one}]",
		`unknown field "commmit"`:   "releases: [{version: 0.1.0, commmit: x}]",
		"catalog/releases.yaml: er": ":",
	} {
		if _, err := record.Parse([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", content, err, want)
		}
	}
}
