//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// wrongItems is how many items each server holds while the input is wrong.
const wrongItems = 2000

// refusals are wrong inputs for a running cache, each with a patch that corrects the field. A condition must say what is
// wrong and how to correct it.
var refusals = []struct {
	what, wrong, right string
	reason             string
	says               []string
}{
	{
		"a missing Secret", `{"auth":{"secretName":"nowhere"}}`, `{"auth":{"secretName":"wrong-users"}}`,
		cachev1alpha1.ReasonSecretNotFound, []string{"spec.auth.secretName", "there is no Secret nowhere in the namespace default", "create it, or name another"},
	},
	{
		"an expired certificate", `{"tls":{"secretName":"wrong-expired"}}`, `{"tls":{"secretName":"wrong-tls"}}`,
		cachev1alpha1.ReasonInvalidCertificate, []string{"spec.tls", "wrong-expired", "expired at", "renew it"},
	},
	{
		"nine users", `{"auth":{"secretName":"wrong-nine"}}`, `{"auth":{"secretName":"wrong-users"}}`,
		cachev1alpha1.ReasonInvalidUsers, []string{"spec.auth", "wrong-nine", "names 9, but memcached takes at most 8", "remove some"},
	},
	{
		"a limit that is too small", `{"resources":{"limits":{"memory":"32Mi"}}}`, `{"resources":null}`,
		cachev1alpha1.ReasonInvalidSizing, []string{"spec.resources.limits.memory", "32Mi cannot hold a cache of 8Mi", "for connections", "Set at least"},
	},
	{
		"an unknown version", `{"version":"1.6.99"}`, `{"version":null}`,
		cachev1alpha1.ReasonUnknownVersion, []string{"spec.version", "1.6.99 is not known", "1.6.18", "1.6.45", "or name an image"},
	},
	{
		"an argument that fights a field", `{"extraArgs":["-m","64"]}`, `{"extraArgs":null}`,
		cachev1alpha1.ReasonInvalidArguments, []string{"spec.extraArgs", "-m is set by spec.cacheMemory", "remove it here, and use that field"},
	},
}

// refusedInput gives a running cache one wrong input after another.
func refusedInput(t *testing.T) {
	authority := agenttesting.NewAuthority(t)
	certificate := certificateFor(t, authority, "wrong", time.Hour)
	writeSecret(t, "wrong-tls", certificate)
	writeSecret(t, "wrong-expired", certificateFor(t, authority, "wrong", -time.Minute))
	writeSecret(t, "wrong-users", userLines("app:first"))
	writeSecret(t, "wrong-nine", userLines("a:1", "b:2", "c:3", "d:4", "e:5", "f:6", "g:7", "h:8", "app:first"))
	p := produce(t, "wrong", 2, "workload: StatefulSet\ntls:\n  secretName: wrong-tls\nauth:\n  secretName: wrong-users")
	servers := p.servers(clients.Access{TLS: clientTLS(t, certificate), User: "app", Password: "first"})
	p.storeAll(servers, wrongItems, smallItem)
	loads := p.use(servers)
	before := p.pods()

	for _, refusal := range refusals {
		p.patch(refusal.wrong)
		message := p.says(30*time.Second, cachev1alpha1.ConditionDegraded, refusal.reason, refusal.says...)
		t.Logf("%s: %s: %s", refusal.what, refusal.reason, message)
		p.complete(servers, wrongItems)
		p.patch(refusal.right)
		p.ready(30 * time.Second)
		p.same(before)
		p.unnoticed(refusal.what, loads...)
	}
	p.waitsForImage(servers, loads...)
	for _, l := range loads[1:] {
		must(t, l.Stop()) // The update stops at this pod.
	}
	p.stopsAtOne(servers, loads[0])
}

// waitsForImage sets an image that cannot be pulled. No pod is stopped for it, and another change is made meanwhile.
func (p *production) waitsForImage(servers []*clients.Memcached, loads ...*clients.Load) {
	p.t.Helper()
	before := p.pods()
	p.patch(`{"image":"docker.io/library/memcached:no-such-tag"}`)
	message := p.says(2*time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonUpdateStuck, "On node", "no-such-tag", "cannot be pulled")
	p.t.Logf("an image that cannot be pulled: %s", message)
	p.says(time.Minute, cachev1alpha1.ConditionUpdatePending, cachev1alpha1.ReasonWaitingForRelease, "no-such-tag", "cannot be pulled", "To stop the pods for it all the same", "kubectl patch")
	p.patch(`{"podLabels":{"changed":"meanwhile"}}`)
	must(p.t, walk.Within(p.t.Context(), time.Minute, "the label on every pod", func(context.Context) error {
		for _, pod := range cachePods(p.t.Context(), p.t, p.key) {
			if pod.Labels["changed"] != "meanwhile" {
				return fmt.Errorf("%s has the labels %v", pod.Name, pod.Labels)
			}
		}
		return nil
	}))
	p.complete(servers, wrongItems)
	p.same(before)
	p.unnoticed("an image that cannot be pulled", loads...)
}

// stopsAtOne approves an image that cannot be pulled. The update stops at its first pod, until the image is corrected.
func (p *production) stopsAtOne(servers []*clients.Memcached, served *clients.Load) {
	p.t.Helper()
	before := p.pods()
	var cache cachev1alpha1.Memcached
	must(p.t, suite.cluster.Client.Get(p.t.Context(), p.key, &cache))
	p.patch(`{"updates":{"release":"` + cache.Status.Pending.ID + `"}}`)
	message := p.says(2*time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonUpdateStuck, p.podName(1), "no-such-tag", "cannot be pulled")
	p.t.Logf("an image that cannot be pulled, approved: %s", message)
	p.patch(`{"image":null}`)
	p.replaced(before[p.podName(1)])
	p.ready(time.Minute)
	if missing := p.missing(servers[0], wrongItems, smallItem); missing > 0 {
		p.t.Errorf("%s lost %d of %d items to an update that did not reach it", servers[0].Name(), missing, wrongItems)
	}
	delete(before, p.podName(1))
	p.same(before)
	p.unnoticed("an image that cannot be pulled, the other pod", served)
}

// spoiltSecret writes nine users into the Secret of a running cache. memcached keeps its users, and a condition reports the
// problem soon.
func spoiltSecret(t *testing.T) {
	writeSecret(t, "spoilt-users", userLines("app:first"))
	p := produce(t, "spoilt", 1, "workload: StatefulSet\nauth:\n  secretName: spoilt-users")
	servers := p.servers(clients.Access{User: "app", Password: "first"})
	p.storeAll(servers, wrongItems, smallItem)
	loads := p.use(servers)
	before := p.pods()

	start := time.Now()
	writeSecret(t, "spoilt-users", userLines("a:1", "b:2", "c:3", "d:4", "e:5", "f:6", "g:7", "h:8", "app:first"))
	message := p.says(2*time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonInvalidUsers, "spoilt-users", "names 9")
	t.Logf("nine users in the Secret of a cache, after %s: %s", time.Since(start).Round(time.Second), message)
	writeSecret(t, "spoilt-users", userLines("app:first"))
	p.ready(time.Minute)
	p.complete(servers, wrongItems)
	p.same(before)
	p.unnoticed("nine users in the Secret of a cache", loads...)
}
