package walk

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestTheSubscriptionIsToldFromTheOtherManifests(t *testing.T) {
	subscription, others, err := manifests("..")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"../00-namespace.yaml", "../10-operatorgroup.yaml", "../20-catalogsource.yaml"}
	if filepath.Base(subscription) != "30-subscription.yaml" || !slices.Equal(others, want) {
		t.Errorf("the Subscription is %q, the others are %v", subscription, others)
	}
	if _, _, err := manifests(t.TempDir()); err == nil {
		t.Error("a folder without a Subscription is taken")
	}
}
