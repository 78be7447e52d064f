package figures_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/bench/figures"
)

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 5: "5", 0.5: "0.5", 0.12345: "0.123", 12.345: "12.3", 1234.5: "1234", 123456: "123456", 99.96: "100", 1e-3: "0.001", -2.5: "-2.5", 100: "100",
	} {
		if got := figures.Number(value); got != want {
			t.Errorf("%v is written as %q, want %q", value, got, want)
		}
	}
}

func TestMarkdownHasAColumnForEachKindAndSize(t *testing.T) {
	first := figures.Origin{Commit: "abc", Date: "2026-05-04", CPUs: 2, Go: "go1", Kubernetes: "v1"}
	report := figures.Report{
		{Workload: "burst", Kind: "deployment", Size: 100, Origin: first, Figures: []figures.Figure{
			{Name: "cost", Unit: "ms", Rounds: []float64{3, 1, 2}}, {Name: "calls", Rounds: []float64{5, 5}},
		}},
		{Workload: "memory", Kind: "deployment", Size: 0, Origin: first, Figures: []figures.Figure{{Name: "heap", Unit: "MiB", Rounds: []float64{4}}}},
		{Workload: "burst", Kind: "application", Size: 100, Origin: first, Figures: []figures.Figure{{Name: "calls", Rounds: []float64{4}}}},
		{Workload: "burst", Kind: "deployment", Size: 20, Origin: first, Figures: []figures.Figure{{Name: "cost", Unit: "ms", Rounds: []float64{6}}}},
	}
	want := `Measured at commit abc on 2026-05-04: 2 CPUs, go1, Kubernetes v1.
Median of all rounds (lowest to highest).

## goals

| figure | goal | measured | |
| --- | --- | --- | --- |
| memory | at most 5 MiB | 4 MiB | met |

## burst

| figure | deployment, 20 | deployment, 100 | application, 100 |
| --- | --- | --- | --- |
| cost | 6 ms | 2 ms (1 to 3) | - |
| calls | - | 5 | 4 |

## memory

| figure | deployment, 0 |
| --- | --- |
| heap | 4 MiB |
`
	if difference := cmp.Diff(want, report.Markdown([]figures.Goal{{Workload: "memory", Kind: "deployment", Figure: "heap", Says: "memory", Bound: 5}})); difference != "" {
		t.Error(difference)
	}
}

// Figures that were measured later take the place of others, and a table says which commit each is of.
func TestAReportHoldsTheNewestFigures(t *testing.T) {
	result := func(size int, commit string) figures.Result {
		origin := figures.Origin{Commit: commit, Date: "2026-05-04", CPUs: 2, Go: "go1", Kubernetes: "v1"}
		return figures.Result{Workload: "burst", Kind: "deployment", Size: size, Origin: origin, Figures: []figures.Figure{{Name: "cost", Rounds: []float64{7}}}}
	}
	var report figures.Report
	for _, result := range []figures.Result{result(1, "abc"), result(2, "abc"), result(1, "def")} {
		report.Add(result)
	}
	want := `Measured at commit def on 2026-05-04: 2 CPUs, go1, Kubernetes v1.
Measured at commit abc on 2026-05-04: 2 CPUs, go1, Kubernetes v1.
Median of all rounds (lowest to highest).

## burst

| figure | deployment, 1 | deployment, 2 |
| --- | --- | --- |
| commit | def | abc |
| cost | 7 | 7 |
`
	if difference := cmp.Diff(want, report.Markdown(nil)); difference != "" {
		t.Error(difference)
	}
}

func TestComparisonShowsBothValues(t *testing.T) {
	was := recorded("calls", figures.Lower, 6, figures.Limit{Number: 0.5})
	report := figures.Report{result("calls", figures.Lower, 7)}
	want := "| workload | figure | recorded | now |\n| --- | --- | --- | --- |\n| burst, deployment, 100 | calls | 6 | 7 |\n"
	if difference := cmp.Diff(want, report.Comparison(was)); difference != "" {
		t.Error(difference)
	}
}
