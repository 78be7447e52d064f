//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/walk"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
)

// beforeApplications is the last release that does not know the kind Application.
const beforeApplications = "0.1.0"

// An Application survives the way back to a release that does not know its kind. It stays as it is while that release runs, and is managed
// again when the newer release is back, with what its owner has changed meanwhile. An administrator does this with the commands of
// olm/README.md.
func TestWayBackBeforeApplications(t *testing.T) {
	ctx := withoutOperator(t)
	must(t, suite.cluster.Choose(ctx, suite.manifests, walk.Choice{Version: suite.version, Channel: "candidate", Automatic: true}))
	must(t, suite.cluster.WaitOnly(ctx, suite.version, 5*time.Minute))
	image, err := webImage()
	must(t, err)
	visitor := makeVisited(t, sampleApplication, image)
	patchSpec(t, sampleApplication, `{"ingress":{"host":"example.foo.com"}}`)
	waitReady(t, "default", sampleApplication)
	before, uids := takeApplications(t), childUIDs(t)

	admin := administrator{newShell(t)}
	admin.asksFirst()
	admin.goesBack(beforeApplications)
	must(t, suite.cluster.WaitOnly(ctx, beforeApplications, 3*time.Minute))
	newCacheIsReady(ctx, t) // So the older release is at work.
	if changes := fmt.Sprint(before.Compare(takeApplications(t))); changes != fmt.Sprint(observe.Changes{}) {
		t.Errorf("%s has changed: %s", beforeApplications, changes)
	}

	patchSpec(t, sampleApplication, `{"replicas":3}`)
	admin.follows("fast")
	admin.approves(suite.version)
	must(t, suite.cluster.WaitOnly(ctx, suite.version, 3*time.Minute))
	waitReady(t, "default", sampleApplication)
	keptAndGrown(t, before, uids)
	if counts := visitor(t); counts.Requests < 20 || counts.Failed > 0 {
		t.Errorf("%d of %d requests failed: %s", counts.Failed, counts.Requests, strings.Join(counts.Failures, "; "))
	} else {
		t.Logf("there and back: %d requests, none failed, the slowest took %s", counts.Requests, counts.Slowest)
	}
}

// takeApplications records Applications and what the operator made for them.
func takeApplications(t *testing.T) *observe.State {
	t.Helper()
	state, err := observe.Take(t.Context(), suite.cluster.Client, "default", []schema.GroupVersionKind{
		appv1alpha1.GroupVersion.WithKind(appv1alpha1.ApplicationKind), {Version: "v1", Kind: "Service"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	})
	must(t, err)
	return state
}

// childUIDs lists the sample Application and what it owns, one a line with the UID.
func childUIDs(t *testing.T) string {
	t.Helper()
	return kubectl(t.Context(), t, "get", "application,deployment,service,ingress,poddisruptionbudget", "-n", "default",
		"--field-selector", "metadata.name="+sampleApplication, "-o", `jsonpath={range .items[*]}{.kind} {.metadata.uid}{"\n"}{end}`)
}

// keptAndGrown fails the test unless the sample Application has one pod more than before, and all else is the same.
func keptAndGrown(t *testing.T, before *observe.State, uids string) {
	t.Helper()
	changes := before.Compare(takeApplications(t))
	edited := []string{"Application default/" + sampleApplication}
	if len(changes.Gone)+len(changes.Templates)+changes.Restarts > 0 || len(changes.New) != 1 || !slices.Equal(changes.Resources, edited) {
		t.Errorf("want one pod more, %v edited, and no other change: %+v", edited, changes)
	}
	if after := childUIDs(t); after != uids {
		t.Errorf("objects were recreated: there were\n%s\nand are\n%s", uids, after)
	}
}
