package scenario

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/figures"
)

// The names of figures that others refer to.
const (
	Throughput     = "throughput against the bare client"
	Reads          = "reads per resource"
	Writes         = "writes per resource"
	CPU            = "CPU of the operator per resource"
	CPUShare       = "CPU of the operator against that of the API server for the bare client"
	ServerCPU      = "CPU of the API server against that for the bare client"
	AllCPU         = "CPU of operator, API server and etcd against those of the bare client"
	LatencyMedian  = "p50 until Ready"
	LatencyHighest = "p99 until Ready"
	BareMedian     = "bare client: p50 until Ready"
	BareHighest    = "bare client: p99 until Ready"

	ServerCPUTime     = "CPU of the API server per resource"
	BareServerCPUTime = "bare client: CPU of the API server per resource"

	HeapSlope  = "live heap per resource"
	HeapGrowth = "growth of the live heap"
	Heap       = "live heap"

	AllWrites     = "writes"
	BesideFailing = "p50 beside failing ones against alone"
)

// of returns a figure with a value for each round.
func of[T any](name, unit string, better figures.Better, rounds []T, value func(T) float64) figures.Figure {
	figure := figures.Figure{Name: name, Unit: unit, Better: better}
	for _, round := range rounds {
		figure.Rounds = append(figure.Rounds, value(round))
	}
	return figure
}

// Ratios returns the figures of pairs of rounds that compare the operator with the bare client, pair by pair.
func Ratios(pairs []Pair) []figures.Figure {
	return []figures.Figure{
		of(Throughput, "", figures.Higher, pairs, func(p Pair) float64 { return p.Operator.rate() / p.Bare.rate() }),
		of(CPUShare, "", figures.Lower, pairs, func(p Pair) float64 {
			return p.Operator.Usage.CPU / float64(p.Operator.Count) * 1000 / p.Bare.server()
		}),
		of(ServerCPU, "", figures.Lower, pairs, func(p Pair) float64 { return p.Operator.server() / p.Bare.server() }),
		of(AllCPU, "", figures.Lower, pairs, func(p Pair) float64 { return p.Operator.total() / p.Bare.total() }),
	}
}

// Compared returns the figures of pairs that are compared with recorded ones. For CPU time it is the median of all pairs: a processor that
// others use as well makes single rounds a third dearer or cheaper, so the lowest of many differs more from run to run. The throughput
// depends most on how much of the machine is left just then, so that its best pair counts.
func Compared(pairs []Pair) []figures.Figure {
	all := Ratios(pairs)
	for i := range all {
		if all[i].Name != Throughput {
			all[i].Rounds = []float64{all[i].Median()}
		}
	}
	return all
}

// Figures returns what pairs of rounds say. Ratios are made pair by pair. settled is how many of the last rounds waited for what the operator
// puts off: the others do not know all of its requests.
func Figures(pairs []Pair, settled int) []figures.Figure {
	last := pairs[len(pairs)-settled:]
	all := slices.Concat(Ratios(pairs), []figures.Figure{
		of("custom resources per second", "/s", figures.Higher, pairs, func(p Pair) float64 { return p.Operator.rate() }),
		of("bare client: custom resources per second", "/s", "", pairs, func(p Pair) float64 { return p.Bare.rate() }),
		of(LatencyMedian, "s", figures.Lower, pairs, func(p Pair) float64 { return p.Operator.latency(0.5) }),
		of(BareMedian, "s", "", pairs, func(p Pair) float64 { return p.Bare.latency(0.5) }),
		of(LatencyHighest, "s", figures.Lower, pairs, func(p Pair) float64 { return p.Operator.latency(0.99) }),
		of(BareHighest, "s", "", pairs, func(p Pair) float64 { return p.Bare.latency(0.99) }),
		of(CPU, "ms", figures.Lower, pairs, func(p Pair) float64 { return p.Operator.Usage.CPU / float64(p.Operator.Count) * 1000 }),
		of(ServerCPUTime, "ms", figures.Lower, pairs, func(p Pair) float64 { return p.Operator.server() }),
		of(BareServerCPUTime, "ms", "", pairs, func(p Pair) float64 { return p.Bare.server() }),
		of("peak RSS", "MiB", figures.Lower, pairs, func(p Pair) float64 { return mebibytes(p.Operator.Usage.PeakRSS) }),
		of(Reads, "", figures.Lower, last, func(p Pair) float64 { return p.Operator.per(p.Operator.Settled.Total(child.Read)) }),
		of(Writes, "", figures.Lower, last, func(p Pair) float64 { return p.Operator.per(p.Operator.Settled.Total(child.Write)) }),
		of("bare client: writes per resource", "", "", pairs, func(p Pair) float64 { return p.Bare.per(p.Bare.Usage.Total(child.Write)) }),
		of("events per resource", "", "", last, func(p Pair) float64 { return p.Operator.per(p.Operator.Settled.Total(child.Event)) }),
	})
	var operators []Round
	for _, pair := range last {
		operators = append(operators, pair.Operator)
	}
	return append(all, calls(operators)...)
}

// calls returns a figure for each kind of request that reads or writes.
func calls(rounds []Round) []figures.Figure {
	made := map[string]child.Call{}
	for _, round := range rounds {
		for _, count := range round.Settled.Calls {
			if count.Class == child.Read || count.Class == child.Write {
				made[fmt.Sprintf("%s: %s %s", count.Class, count.Verb, count.Resource)] = count.Call
			}
		}
	}
	var all []figures.Figure
	for _, name := range slices.Sorted(maps.Keys(made)) {
		all = append(all, of(name, "", figures.Lower, rounds, func(r Round) float64 { return r.per(r.Settled.Count(made[name])) }))
	}
	return all
}

// rate returns how many custom resources became ready in a second.
func (r Round) rate() float64 { return float64(r.Count) / r.Duration.Seconds() }

// per returns a number for one custom resource.
func (r Round) per(number int) float64 { return float64(number) / float64(r.Count) }

// server returns the CPU time of the API server for one custom resource, in ms.
func (r Round) server() float64 { return r.Server.APIServer / float64(r.Count) * 1000 }

// total returns the CPU time of client, API server and etcd for one custom resource, in ms.
func (r Round) total() float64 {
	return (r.Usage.CPU + r.Server.APIServer + r.Server.Etcd) / float64(r.Count) * 1000
}

// latency returns a quantile of the latencies, in seconds.
func (r Round) latency(q float64) float64 { return figures.Quantile(inSeconds(r.Latencies), q) }

func inSeconds(all []time.Duration) []float64 {
	var seconds []float64
	for _, one := range all {
		seconds = append(seconds, one.Seconds())
	}
	return seconds
}

func mebibytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

func kibibytes(bytes float64) float64 { return bytes / (1 << 10) }
