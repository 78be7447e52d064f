package main

import (
	"context"
	"errors"
	"strings"
	"testing"

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
