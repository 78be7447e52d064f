package main

import (
	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/scenario"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// goals are what the operator should need. Counts of requests are the least that is possible: a cache owns four objects in the cluster
// (a Deployment, a Service, a Secret and a record), and has a status.
func goals() []figures.Goal {
	const size, most = 1000, 10000
	name := workload.Deployment.Name
	return []figures.Goal{
		{Workload: "burst", Kind: name, Size: size, Figure: scenario.Writes, Says: "writes for a new cache", Bound: 5},
		{Workload: "burst", Kind: name, Size: size, Figure: scenario.Reads, Says: "reads for a new cache", Bound: 1},
		{Workload: "scale", Kind: name, Size: size, Figure: scenario.Writes, Says: "writes for a change of size", Bound: 2},
		{Workload: "scale", Kind: name, Size: size, Figure: scenario.Reads, Says: "reads for a change of size", Bound: 0},
		{
			Workload: "burst", Kind: name, Size: size, Figure: scenario.Throughput, Bound: 0.6,
			Says: "burst of 1,000: throughput against a bare client that writes the same",
		},
		{Workload: "burst", Kind: name, Size: size, Figure: scenario.CPU, Says: "CPU time of the operator for a new cache", Bound: 4},
		{Workload: "memory", Kind: scenario.MemoryKind(workload.Deployment), Size: most, Figure: scenario.HeapSlope, Says: "live heap for each cache", Bound: 8},
		{Workload: "unrelated objects", Kind: name, Size: 100, Figure: scenario.HeapGrowth, Says: "memory for 10,000 unrelated objects of three kinds", Bound: 1},
		{Workload: "steady state", Kind: name, Size: size, Figure: scenario.AllWrites, Says: "writes of 1,000 caches in 30 s at rest", Bound: 0},
		{Workload: "resync", Kind: name, Size: size, Figure: scenario.AllWrites, Says: "writes of 1,000 caches in a resync", Bound: 0},
		{Workload: "restart", Kind: name, Size: size, Figure: scenario.AllWrites, Says: "writes of 1,000 caches after a restart", Bound: 0},
		{
			Workload: "failing resources", Kind: name, Size: 100, Figure: scenario.BesideFailing, Bound: 1.25,
			Says: "p50 until Ready beside 100 failing caches, against that without them",
		},
	}
}
