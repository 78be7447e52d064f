package walk

import (
	"context"
	"fmt"
	"log"
	"regexp"
	"slices"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// resolveAgain makes OLM resolve again if its last resolution considered a version that is gone by now.
//
// While an upgrade replaces one version by another, both exist, and OLM finds no upgrade that suits both. It resolves again
// only when a Subscription, an OperatorGroup or a catalog changes, or after its resync of 15 minutes. That the old version is
// deleted does not count (OLM 0.46, syncResolvingNamespace).
func (c *Cluster) resolveAgain(ctx context.Context) error {
	var sub operatorsv1alpha1.Subscription
	if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: Package}, &sub); err != nil {
		return fmt.Errorf("read the Subscription: %w", err)
	}
	csvs, err := c.Versions(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, csv := range csvs {
		names = append(names, csv.Name)
	}
	if !outdated(sub.Status, names) || !due(sub.Annotations[touched], time.Now()) {
		return nil
	}
	log.Print("OLM keeps its result from when both versions existed: touching the Subscription to make it resolve again")
	return c.patch(ctx, &operatorsv1alpha1.Subscription{}, Package,
		fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, touched, time.Now().Format(time.RFC3339)))
}

// touched is the annotation that makes OLM resolve again: the time at which it was set.
const touched = "example.com/looked-at"

// touchInterval is the shortest time between two touches of the Subscription. OLM reads it, looks at every catalog for some
// hundred milliseconds each, and then writes it. A touch meanwhile makes that write conflict, and after a dozen conflicts OLM
// pauses for minutes (its rate limiter doubles the time at each).
const touchInterval = 15 * time.Second

// due reports whether the Subscription may be touched again. last is when it was touched before, empty for never.
func due(last string, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, last)
	return err != nil || now.Sub(at) >= touchInterval
}

// considered finds the installed versions in the message of a failed resolution.
var considered = regexp.MustCompile(`@existing/` + regexp.QuoteMeta(Namespace) + `//([^\s,]+)`)

// outdated tells whether the resolution failed and considered a version that is no longer installed.
func outdated(status operatorsv1alpha1.SubscriptionStatus, installed []string) bool {
	failed := status.GetCondition(operatorsv1alpha1.SubscriptionResolutionFailed)
	if failed.Status != corev1.ConditionTrue {
		return false
	}
	for _, match := range considered.FindAllStringSubmatch(failed.Message, -1) {
		if !slices.Contains(installed, match[1]) {
			return true
		}
	}
	return false
}
