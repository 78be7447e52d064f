//go:build olmv1

package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/graph"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/seed"
)

// question is a request to hack/tools/olmv1/olmv1-resolver, and what this package says about it.
type question struct {
	Catalog, Package, Name, Version, Pin string
	Channels                             []string
	Force                                bool

	what string
	want string // The bundle to install; empty if there is none.
}

// answered asks the resolver of OLM v1, and fails the test where it disagrees. It returns how many questions have a bundle other than the
// installed one as answer, the installed one, and none.
func answered(t *testing.T, questions []question) (upgrades, stays, none int) {
	t.Helper()
	resolver := os.Getenv("OLMV1_RESOLVER")
	if resolver == "" {
		t.Fatal("set OLMV1_RESOLVER to the program that `go run -C hack/cluster . tool olmv1-resolver` prints")
	}
	var in, out bytes.Buffer
	for _, q := range questions {
		if err := json.NewEncoder(&in).Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), resolver)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, io.Discard
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(&out)
	for _, q := range questions {
		var answer struct{ Bundle, Error string }
		if err := answers.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if answer.Error != "" && !strings.Contains(answer.Error, "no bundles found") {
			t.Fatalf("%s: %s\n%s", q.what, answer.Error, q.Catalog)
		}
		if answer.Bundle != q.want {
			t.Errorf("%s: OLM v1 installs %q, the graph says %q\n%s", q.what, answer.Bundle, q.want, q.Catalog)
		}
		switch answer.Bundle {
		case "":
			none++
		case q.Name:
			stays++
		default:
			upgrades++
		}
	}
	if err := answers.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		t.Fatalf("more answers than questions: %v", err)
	}
	return upgrades, stays, none
}

// questionsOf returns a question for each release of the catalog as the installed one: in each channel and without one, and pinned, by
// force too, to each other release.
func questionsOf(t *testing.T, what string, catalog declcfg.DeclarativeConfig) (questions []question) {
	t.Helper()
	g := testkit.Must(graph.Read(catalog))(t)
	var text bytes.Buffer
	if err := declcfg.WriteJSON(catalog, &text); err != nil {
		t.Fatal(err)
	}
	for _, installed := range g.Releases {
		q := question{Catalog: text.String(), Package: g.Package, Name: installed.Name, Version: installed.Version.String()}
		for _, channel := range g.Channels {
			q.Channels, q.want = []string{channel.Name}, nameAfter(channel.V1(), installed, channel.Entry(installed.Name) != nil)
			q.what = fmt.Sprintf("%s: %s in channel %s", what, installed.Name, channel.Name)
			questions = append(questions, q)
		}
		q.Channels, q.want, q.what = nil, nameAfter(g.V1(), installed, true), fmt.Sprintf("%s: %s in any channel", what, installed.Name)
		questions = append(questions, q)
		for _, pinned := range g.Releases {
			q.Pin, q.Force, q.want = pinned.Version.String(), true, pinned.Name
			q.what = fmt.Sprintf("%s: %s pinned to %s", what, installed.Name, pinned.Name)
			questions = append(questions, q)
			q.Force = false
			if pinned != installed && !hasEdge(g, installed, pinned) {
				q.want = ""
			}
			questions = append(questions, q)
		}
	}
	return questions
}

// hasEdge reports whether any channel has an edge between two releases.
func hasEdge(g *graph.Graph, from, to *graph.Release) bool {
	return slices.ContainsFunc(g.Channels, func(channel *graph.Channel) bool {
		entry := channel.Entry(to.Name)
		return entry != nil && entry.Edge(from) != ""
	})
}

// nameAfter returns the name of the release after a step: that of the installed one where OLM v1 knows it and there is no upgrade.
func nameAfter(step graph.Step, installed *graph.Release, known bool) string {
	if next := step(installed); next != nil {
		return next.Name
	}
	if known {
		return installed.Name
	}
	return ""
}

func TestUpgradesAreThoseOfTheResolverOfOLMv1(t *testing.T) {
	var questions []question
	first := seed.New(t)
	for n := range uint64(500) {
		questions = append(questions, questionsOf(t, fmt.Sprintf("SEED=%d", first+n), random(first+n).catalog())...)
	}
	upgrades, stays, none := answered(t, questions)
	t.Logf("%d upgrades, %d releases that stay, %d without an answer", upgrades, stays, none)
	if min(upgrades, stays, none) < len(questions)/20 {
		t.Errorf("the questions are too similar: %d upgrades, %d that stay, %d without an answer", upgrades, stays, none)
	}
}

func TestUpgradesInTheServedCatalogAreThoseOfTheResolverOfOLMv1(t *testing.T) {
	root := testkit.Must(checkout.Root())(t)
	catalog := testkit.Must(declcfg.LoadFS(t.Context(), os.DirFS(filepath.Join(root, "catalog", "memcached-operator"))))(t)
	upgrades, _, none := answered(t, questionsOf(t, "the served catalog", *catalog))
	if upgrades == 0 || none == 0 {
		t.Errorf("%d upgrades and %d downgrades without an answer", upgrades, none)
	}
}
