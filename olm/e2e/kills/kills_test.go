package kills_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/kills"
)

var nodes = []string{"node-0", "node-1"}

// seeds returns seeds that no other run has used, and logs them.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	first := rand.Uint64()
	t.Logf("the seeds are %d and the following", first)
	var all []uint64
	for i := range uint64(500) {
		all = append(all, first+i)
	}
	return all
}

func TestASeedGivesOnePlan(t *testing.T) {
	different := false
	for _, seed := range seeds(t) {
		plan := kills.Plan(seed, 3*time.Minute, nodes)
		if !slices.Equal(plan, kills.Plan(seed, 3*time.Minute, nodes)) {
			t.Fatalf("seed %d gives two plans", seed)
		}
		different = different || !slices.Equal(plan, kills.Plan(seed+1, 3*time.Minute, nodes))
	}
	if !different {
		t.Error("every seed gives the same plan")
	}
}

// OLM and the kubelet get over every plan: power is lost at most once in three minutes, only one part that others need is away, and
// everything is back at the end.
func TestEveryPlanCanBeRecoveredFrom(t *testing.T) {
	for _, seed := range seeds(t) {
		for _, duration := range []time.Duration{20 * time.Second, 3 * time.Minute, 20 * time.Minute} {
			plan := kills.Plan(seed, duration, nodes)
			power := -time.Hour
			back := map[string]time.Duration{}
			for i, kill := range plan {
				if i > 0 && kill.At < plan[i-1].At || kill.At+kill.Away > duration {
					t.Fatalf("seed %d, %s: out of time: %s", seed, duration, kill)
				}
				if kill.Power {
					if kill.At-power < 3*time.Minute {
						t.Fatalf("seed %d, %s: power is lost at %s and again: %s", seed, duration, power, kill)
					}
					power = kill.At
				}
				for _, needed := range needs(kill.What) {
					if kill.At < back[needed] {
						t.Fatalf("seed %d, %s: %s is away until %s: %s", seed, duration, needed, back[needed], kill)
					}
				}
				back[kill.What] = kill.At + kill.Away
			}
		}
	}
}

// needs returns what has to be there before a part is killed: the part itself, and what it cannot start without.
func needs(what string) []string {
	switch what {
	case "etcd", "kube-apiserver":
		return []string{"etcd", "kube-apiserver"}
	}
	if i := strings.Index(what, "node-"); i >= 0 {
		node := what[i:]
		return []string{node, "containerd-" + node, "kubelet-" + node}
	}
	return []string{what}
}

func TestSixMinutesKillEveryPart(t *testing.T) {
	want := []string{
		"containerd-node-0", "containerd-node-1", "etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler",
		"kubelet-node-0", "kubelet-node-1", "node", kills.OperatorPod, kills.OperatorProcess,
	}
	for _, seed := range seeds(t) {
		var killed []string
		for _, kill := range kills.Plan(seed, 6*time.Minute, nodes) {
			name := kill.What
			if kill.Power {
				name = "node"
			}
			killed = append(killed, name)
		}
		slices.Sort(killed)
		if killed = slices.Compact(killed); !slices.Equal(killed, want) {
			t.Errorf("seed %d kills %v, want %v", seed, killed, want)
		}
	}
}

func TestAKillSaysWhatHappens(t *testing.T) {
	for want, kill := range map[string]kills.Kill{
		"1m20s: kill etcd for 5s":             {At: 80 * time.Second, What: "etcd", Away: 5 * time.Second},
		"4s: kill the operator's pod":         {At: 4 * time.Second, What: kills.OperatorPod},
		"30s: node-1 loses its power for 20s": {At: 30 * time.Second, What: "node-1", Away: 20 * time.Second, Power: true},
	} {
		if got := kill.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
