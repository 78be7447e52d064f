package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/picture"
	"github.com/example/memcached-operator/hack/bench/scenario"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// line is a figure that is drawn.
type line struct {
	figure, name string
	reference    bool
}

const resources = "custom resources, at once"

var (
	latencyLines = []line{
		{scenario.LatencyMedian, "operator, p50", false}, {scenario.LatencyHighest, "operator, p99", false},
		{scenario.BareMedian, "bare client, p50", true}, {scenario.BareHighest, "bare client, p99", true},
	}
	costLines = []line{
		{scenario.CPU, "operator", false}, {scenario.ServerCPUTime, "API server, for the operator", false},
		{scenario.BareServerCPUTime, "API server, for the bare client", true},
	}
	memoryLines = []line{{scenario.Heap, "live heap", false}}
)

// pictures returns the pictures of a report by the names of their files. There is one only if several sizes were measured.
func pictures(report figures.Report) map[string][]byte {
	var machines []string
	for _, origin := range report.Origins() {
		machines = append(machines, fmt.Sprintf("%d CPUs, Kubernetes %s", origin.CPUs, origin.Kubernetes))
	}
	slices.Sort(machines)
	subtitle := strings.Join(slices.Compact(machines), "; ") + ". The API server and etcd run on the same machine. Median and spread of all rounds."
	all := map[string][]byte{}
	add := func(name, title string, charts []picture.Chart) {
		if len(charts) > 0 {
			all[name] = picture.SVG(title, subtitle, charts)
		}
	}
	add("burst-latency.svg", "How long custom resources take until they are Ready",
		charts(report, "burst", picture.Chart{X: resources, Y: "seconds", LogX: true, LogY: true}, latencyLines))
	add("burst-cost.svg", "What a custom resource costs, from few to many",
		charts(report, "burst", picture.Chart{X: resources, Y: "CPU time of each custom resource, ms", LogX: true}, costLines))
	add("memory.svg", "Memory of the operator", charts(report, "memory", picture.Chart{X: "custom resources", Y: "MiB"}, memoryLines))
	return all
}

// charts returns a chart for each kind of a workload.
func charts(report figures.Report, name string, like picture.Chart, lines []line) []picture.Chart {
	var all []picture.Chart
	for _, kind := range kindsOf(report, name) {
		chart := like
		chart.Title = kind
		if known, err := workload.KindOf(kind); err == nil {
			chart.Title = known.Describe
		}
		for _, line := range lines {
			drawn := picture.Line{Name: line.name, Reference: line.reference}
			for _, result := range report {
				if figure := result.Figure(line.figure); figure != nil && result.Workload == name && result.Kind == kind {
					drawn.Points = append(drawn.Points, picture.Point{
						X: float64(result.Size), Y: figure.Median(), Low: slices.Min(figure.Rounds), High: slices.Max(figure.Rounds),
					})
				}
			}
			slices.SortFunc(drawn.Points, func(a, b picture.Point) int { return cmp.Compare(a.X, b.X) }) // They may have been measured in any order.
			chart.Lines = append(chart.Lines, drawn)
		}
		if len(chart.Lines[0].Points) > 1 {
			all = append(all, chart)
		}
	}
	return all
}

func kindsOf(report figures.Report, name string) []string {
	var kinds []string
	for _, result := range report {
		if result.Workload == name && !slices.Contains(kinds, result.Kind) {
			kinds = append(kinds, result.Kind)
		}
	}
	return kinds
}
