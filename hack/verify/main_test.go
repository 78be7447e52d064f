package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/internal/testkit"
)

func TestRunAllContinuesAfterAFailureAndNamesTheFix(t *testing.T) {
	var ran []string
	step := func(name string, err error) check {
		return check{name: name, fix: "fix " + name, run: func(context.Context) error {
			ran = append(ran, name)
			return err
		}}
	}
	var out strings.Builder
	err := runAll(t.Context(), &out, []check{
		step("first", nil),
		step("second", errors.New("broken pipe")),
		step("third", notice("no network")),
		step("fourth", nil),
	})
	if got := strings.Join(ran, " "); got != "first second third fourth" {
		t.Errorf("ran %s", got)
	}
	if err == nil || !strings.Contains(err.Error(), "1 of 4 checks failed") || !strings.Contains(err.Error(), "second: fix second") {
		t.Errorf("error is %v", err)
	}
	for _, part := range []string{"broken pipe", "not checked: no network"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, out.String())
		}
	}
}

func TestCheckThatCannotBeMadeHasNotPassed(t *testing.T) {
	made := func(context.Context) error { return nil }
	notMade := func(context.Context) error { return notice("no network") }
	for want, list := range map[string][]check{
		"2 checks passed\n":                        {{name: "first", run: made}, {name: "second", run: made}},
		"1 checks passed, 1 not checked: second\n": {{name: "first", run: made}, {name: "second", run: notMade}},
	} {
		var out strings.Builder
		if err := runAll(t.Context(), &out, list); err != nil || !strings.HasSuffix(out.String(), "\n"+want) {
			t.Errorf("%v, want %q at the end of:\n%s", err, want, out.String())
		}
	}
}

func TestUntrackedFileFails(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := program(".", "git", "init", "-q")(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := noUntracked(t.Context()); err != nil {
		t.Errorf("an empty checkout: %v", err)
	}
	testkit.WriteFile(t, dir, "left-over.txt", "")
	if err := noUntracked(t.Context()); err == nil || !strings.Contains(err.Error(), "left-over.txt") {
		t.Errorf("with an untracked file: %v", err)
	}
}

func TestLinterConfigurationExistsForEveryModule(t *testing.T) {
	t.Chdir("../..")
	for _, module := range modules {
		if err := program(module, "test", "-f", configFor(module))(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestLinkThatLeadsNowhereFails(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, content string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("README.md", "# Top\n\n[page](docs/page.md#what-1.0-lacks), [page](docs/page.md#what-10-lacks), [top](#top), [gone](docs/gone.md), "+
		"![gone](gone.svg), [site](https://example.com/#gone), `[code](gone.md)`\n")
	write("docs/page.md", "## What 1.0 lacks\n\n[top](../README.md#top), [heading](#gone)\n")
	write("docs/testdata/page.md", "[gone](gone.md)\n")
	if err := errors.Join(program(".", "git", "init", "-q")(t.Context()), program(".", "git", "add", ".")(t.Context())); err != nil {
		t.Fatal(err)
	}
	err := linksLead(t.Context())
	if err == nil {
		t.Fatal("no link is wrong")
	}
	var got []string
	for finding := range strings.Lines(err.Error()) {
		page, rest, _ := strings.Cut(finding, ": the link to ")
		link, _, _ := strings.Cut(rest, ": ")
		got = append(got, page+" "+link)
	}
	want := []string{"README.md docs/page.md#what-1.0-lacks", "README.md docs/gone.md", "README.md gone.svg", "docs/page.md #gone"}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("wrong links (-want +got):\n%s", difference)
	}
}
