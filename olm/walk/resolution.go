package walk

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lookAgain makes OLM look for an upgrade once more when its last look took a version for installed that is gone since.
//
// While an upgrade replaces one version by another, both are there, and OLM finds that nothing suits both. It takes that for
// final and looks again only when a Subscription, an OperatorGroup or a catalog changes, or else after its resync of 15
// minutes; that the old version went is none of these (OLM 0.46, syncResolvingNamespace).
func (c *Cluster) lookAgain(ctx context.Context) error {
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
	if !outdated(sub.Status, names) {
		return nil
	}
	if c.Say != nil {
		c.Say("OLM rests on what it found while both versions were there, and is made to look again")
	}
	return c.patch(ctx, &operatorsv1alpha1.Subscription{}, Package,
		fmt.Sprintf(`{"metadata":{"annotations":{"example.com/looked-at":%q}}}`, time.Now().Format(time.RFC3339)))
}

// counted finds the installed versions in the reason why nothing suits.
var counted = regexp.MustCompile(`@existing/` + regexp.QuoteMeta(Namespace) + `//([^\s,]+)`)

// outdated tells whether OLM found no upgrade because of a version that is not among the installed ones any more.
func outdated(status operatorsv1alpha1.SubscriptionStatus, installed []string) bool {
	failed := status.GetCondition(operatorsv1alpha1.SubscriptionResolutionFailed)
	if failed.Status != corev1.ConditionTrue {
		return false
	}
	for _, match := range counted.FindAllStringSubmatch(failed.Message, -1) {
		if !slices.Contains(installed, match[1]) {
			return true
		}
	}
	return false
}
