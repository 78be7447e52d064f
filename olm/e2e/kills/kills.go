// Package kills plans which parts of the local cluster are killed, when, and for how long. A plan is a function of its seed, so that a run
// can be repeated. It kills nothing itself.
package kills

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Parts of the operator, which come back by themselves. All other parts are components and nodes of hack/cluster.
const (
	OperatorPod     = "the operator's pod"
	OperatorProcess = "the operator's process"
)

// betweenPowerLosses is the shortest time between two losses of power. After more of them the kubelet waits for minutes before it
// restarts OLM's pods and the catalog (CrashLoopBackOff).
const betweenPowerLosses = 3 * time.Minute

// The shortest and the longest time between two kills, and between the return of a part and the next kill of the same group.
const (
	shortestPause = 4 * time.Second
	longestPause  = 12 * time.Second
	recovery      = 10 * time.Second
)

// Kill is one part that is killed, and started again.
type Kill struct {
	// At is when it is killed, since the beginning of the plan.
	At time.Duration
	// What is killed: OperatorPod, OperatorProcess, or the name of a component or a node.
	What string
	// Away is how long it stays away, 0 for parts of the operator.
	Away time.Duration
	// Group names the parts of which only one is away at a time, because the others cannot start without it.
	Group string
	// Power tells whether it is a node that loses its power.
	Power bool
}

// String returns for example "1m20s: kill etcd for 5s".
func (k Kill) String() string {
	switch {
	case k.Power:
		return fmt.Sprintf("%s: %s loses its power for %s", k.At, k.What, k.Away)
	case k.Away == 0:
		return fmt.Sprintf("%s: kill %s", k.At, k.What)
	}
	return fmt.Sprintf("%s: kill %s for %s", k.At, k.What, k.Away)
}

// part can be killed.
type part struct {
	what, group   string
	least, most   time.Duration
	losesItsPower bool
}

func parts(nodes []string) []part {
	all := []part{
		{what: OperatorPod, group: "operator"},
		{what: OperatorProcess, group: "operator"},
		{what: "kube-apiserver", group: "api", least: 2 * time.Second, most: 10 * time.Second},
		{what: "etcd", group: "api", least: 2 * time.Second, most: 10 * time.Second},
		{what: "kube-controller-manager", group: "controllers", least: 5 * time.Second, most: 30 * time.Second},
		{what: "kube-scheduler", group: "scheduler", least: 5 * time.Second, most: 30 * time.Second},
		{what: "kube-proxy", group: "proxy", least: 5 * time.Second, most: 30 * time.Second},
	}
	for _, node := range nodes {
		all = append(all,
			part{what: "containerd-" + node, group: node, least: 3 * time.Second, most: 20 * time.Second},
			part{what: "kubelet-" + node, group: node, least: 5 * time.Second, most: 30 * time.Second},
			part{what: node, group: node, least: 10 * time.Second, most: 40 * time.Second, losesItsPower: true})
	}
	return all
}

// Plan returns what is killed in this time, in the order of time. Whatever is killed is back at its end. Every
// part has its turn: three minutes nearly always suffice, but only one node loses its power in them.
func Plan(seed uint64, duration time.Duration, nodes []string) []Kill {
	random := rand.New(rand.NewPCG(seed, seed))
	free := map[string]time.Duration{} // When a part of a group can be killed again.
	power := time.Duration(0)          // When a node can lose its power again.
	var plan []Kill
	var next []part // Shuffled, so that every part has its turn.
	for at := between(random, 0, longestPause); at < duration; at += between(random, shortestPause, longestPause) {
		possible := func(p part) bool { return free[p.group] <= at && (!p.losesItsPower || power <= at) }
		i := slices.IndexFunc(next, possible)
		if i < 0 {
			more := parts(nodes)
			random.Shuffle(len(more), func(a, b int) { more[a], more[b] = more[b], more[a] })
			next = append(next, more...)
			if i = slices.IndexFunc(next, possible); i < 0 {
				continue
			}
		}
		chosen := next[i]
		next = slices.Delete(next, i, i+1)
		away := min(between(random, chosen.least, chosen.most), duration-at)
		if away < chosen.least {
			continue
		}
		free[chosen.group] = at + away + recovery
		if chosen.losesItsPower {
			power = at + betweenPowerLosses
			next = slices.DeleteFunc(next, func(p part) bool { return p.losesItsPower })
		}
		plan = append(plan, Kill{At: at, What: chosen.what, Away: away, Group: chosen.group, Power: chosen.losesItsPower})
	}
	return plan
}

// between returns a whole number of seconds.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Second*time.Duration(random.Int64N(int64((most-least)/time.Second)+1))
}
