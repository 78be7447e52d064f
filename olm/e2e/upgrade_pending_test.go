//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// lastWithFirstMemcached is the last release whose caches all run firstMemcached. Later ones have another default.
const lastWithFirstMemcached, firstMemcached = "0.2.0", "1.6.18"

// walkToPendingChanges takes the route from a release whose caches ran another version of memcached. The caches stay as they
// are, although the head would make other pods: each reports a pending change, the same one after the upgrade to the made-up
// next release. A cache makes its change when it is approved, pod by pod, and no other cache changes.
func walkToPendingChanges(t *testing.T, r upgrades.Route) []upgrades.Step {
	u, steps := takeRoute(t, r, underPolicies(t))
	pending := u.pendingMemcached(t)
	steps = append(steps, u.upgradeToNext())
	if after := u.pendingMemcached(t); !maps.Equal(after, pending) {
		t.Errorf("the pending changes were %v, and are %v after one more upgrade", pending, after)
	}
	t.Run("new memcached comes only when it is approved", func(t *testing.T) { u.approveMemcached(t, steps[len(steps)-1].To, pending) })
	return steps
}

// pendingMemcached waits until both caches report that only a new image is pending, while all their pods run the first
// memcached. It returns the ids of the changes, by cache.
func (u *users) pendingMemcached(t *testing.T) map[types.NamespacedName]string {
	t.Helper()
	pending := map[types.NamespacedName]string{}
	for key, size := range map[types.NamespacedName]int{inDefault("example-memcached"): 3, inDefault("memcached-sample"): 2} {
		pending[key] = waitPending(t.Context(), t, key, "image Cold").Status.Pending.ID
		waitVersion(t.Context(), t, key, size, firstMemcached)
	}
	return pending
}

// approveMemcached approves the change of one cache. version is that of the operator; pending are the ids of the changes.
func (u *users) approveMemcached(t *testing.T, version string, pending map[types.NamespacedName]string) {
	ctx := t.Context()
	three, two := inDefault("example-memcached"), inDefault("memcached-sample")
	t.Run("kubectl shows it", func(t *testing.T) {
		fields := strings.Fields(lastLine(kubectl(ctx, t, "get", "memcached", three.Name, "-n", three.Namespace)))
		if !slices.Contains(fields, "Cold") || !slices.Contains(fields, "True") {
			t.Errorf("`kubectl get memcached` shows %v", fields)
		}
		contains(t, kubectl(ctx, t, "describe", "memcached", three.Name, "-n", three.Namespace), "UpdatePending", pending[three])
	})
	t.Run("a restart of the operator changes nothing", func(t *testing.T) {
		restartOperator(ctx, t)
		u.lookedAfter(version)
		u.untouched("a restart of the operator")
		if id := waitPending(ctx, t, three, "image Cold").Status.Pending.ID; id != pending[three] {
			t.Errorf("the change has the id %s now, and had %s", id, pending[three])
		}
	})
	t.Run("the id of another change approves nothing", func(t *testing.T) {
		u.remember()
		kubectl(ctx, t, "patch", "memcached", three.Name, "-n", three.Namespace, "--type=merge", "-p", `{"spec":{"updates":{"release":"0123456789"}}}`)
		must(t, suite.cluster.WaitReadyResource(ctx, cachev1alpha1.GroupVersion.WithKind("Memcached"), three, time.Minute))
		waitPending(ctx, t, three, "image Cold")
		step := u.notice()
		if step.Changed--; !step.Harmless() {
			t.Errorf("it was noticed: %+v", step)
		}
	})
	must(t, u.load.Stop())
	before := podsByUID(t, two)
	t.Run("the command in the condition approves them, pod by pod", func(t *testing.T) { releaseByCommand(ctx, t, three, 3, project.DefaultOperand, "image Cold") })
	asBefore := func(t *testing.T) {
		if after := podsByUID(t, two); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("pods by UID with their restarts were %v, and are %v", before, after)
		}
		for uid := range before {
			if missing, err := u.caches[uid].Missing(itemsPerPod, itemSize); err != nil || missing > 0 {
				t.Errorf("%s lacks %d items: %v", u.caches[uid].Name(), missing, err)
			}
		}
	}
	t.Run("the other cache has pending changes and its items", func(t *testing.T) {
		waitPending(ctx, t, two, "image Cold")
		asBefore(t)
	})
	t.Run("a cache that names its current version keeps it without pending changes", func(t *testing.T) {
		kubectl(ctx, t, "patch", "memcached", two.Name, "-n", two.Namespace, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"version":%q}}`, firstMemcached))
		waitPending(ctx, t, two)
		waitVersion(ctx, t, two, 2, firstMemcached)
		asBefore(t)
	})
}

// waitPending waits until a cache is ready and reports exactly these pending changes: fields with their classes, such as
// "image Cold".
func waitPending(ctx context.Context, t *testing.T, key types.NamespacedName, changes ...string) *cachev1alpha1.Memcached {
	t.Helper()
	var cache cachev1alpha1.Memcached
	must(t, walk.Within(ctx, 2*time.Minute, fmt.Sprintf("cache %s to report the pending changes %v", key, changes), func(ctx context.Context) error {
		if err := suite.cluster.Client.Get(ctx, key, &cache); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cache.Status.Conditions, cachev1alpha1.ConditionReady) {
			return fmt.Errorf("it is not ready: %+v", cache.Status.Conditions)
		}
		var waiting []string
		if cache.Status.Pending != nil {
			for _, change := range cache.Status.Pending.Changes {
				waiting = append(waiting, change.Field+" "+string(change.Class))
			}
		}
		if says := meta.IsStatusConditionTrue(cache.Status.Conditions, cachev1alpha1.ConditionUpdatePending); says != (len(changes) > 0) || !slices.Equal(waiting, changes) {
			return fmt.Errorf("the pending changes are %v, and the condition is %t", waiting, says)
		}
		return nil
	}))
	return &cache
}

// releaseCommand is the command in the message of the condition.
var releaseCommand = regexp.MustCompile(`kubectl patch .*$`)

// releaseByCommand runs the command in the condition, as a user would paste it into a shell. It expects that at least size
// pods are ready at any time, and that all are replaced by pods with this version of memcached. The changes are the pending
// ones.
func releaseByCommand(ctx context.Context, t *testing.T, key types.NamespacedName, size int, version string, changes ...string) {
	t.Helper()
	cache := waitPending(ctx, t, key, changes...)
	before := podsByUID(t, key)
	pods, err := observe.WatchPods(ctx, suite.cluster.Client, ofCache(key)...)
	must(t, err)
	start := time.Now()
	command := releaseCommand.FindString(meta.FindStatusCondition(cache.Status.Conditions, cachev1alpha1.ConditionUpdatePending).Message)
	t.Logf("running: %s", command)
	run(ctx, t, "sh", "-c", fmt.Sprintf("PATH=%q:$PATH\n%s", filepath.Dir(suite.cluster.KubectlPath), command))
	waitVersion(ctx, t, key, size, version)
	seen, err := pods.Stop()
	must(t, err)
	t.Logf("%d pods were replaced within %s; at least %d were ready, at most %d existed", size, time.Since(start).Round(time.Millisecond), seen.Least, seen.Most)
	if seen.Least < size {
		t.Errorf("only %d pods were ready for a time, want %d always", seen.Least, size)
	}
	for uid := range podsByUID(t, key) {
		if _, old := before[uid]; old {
			t.Errorf("pod %s was there before", uid)
		}
	}
	waitPending(ctx, t, key)
}

// restartOperator deletes the operator's pod, and waits for another one.
func restartOperator(ctx context.Context, t *testing.T) {
	t.Helper()
	pod, err := onlyOperatorPod(ctx)
	must(t, err)
	kubectl(ctx, t, "delete", "pod", pod.Name, "-n", walk.Namespace, "--timeout=60s")
	must(t, walk.Within(ctx, time.Minute, "another pod of the operator", func(ctx context.Context) error {
		now, err := onlyOperatorPod(ctx)
		if err == nil && now.UID == pod.UID {
			err = errors.New("it is still the old one")
		}
		return err
	}))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
