package walk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Choice is the part of a Subscription that differs from the manifest. Without Automatic it has manual approval.
type Choice struct {
	// Version is the release to install, without the leading v, and Channel the channel to follow.
	Version, Channel string
	// Source is the name of the CatalogSource; empty for the one in the manifests.
	Source string
	// Catalog is the image of that CatalogSource, which Choose creates; empty if it is there.
	Catalog string
	// Poll is how often OLM looks whether that image has changed; 0 for as often as the manifest says.
	Poll time.Duration
	// Automatic approves every InstallPlan.
	Automatic bool
}

// Choose applies the manifests of the folder, with a Subscription that names the release and, unless the choice is automatic,
// needs an approval for every InstallPlan, including the first. It does not wait for the InstallPlan.
func (c *Cluster) Choose(ctx context.Context, folder string, choice Choice) error {
	if err := c.installCatalog(ctx, folder); err != nil {
		return err
	}
	if choice.Catalog != "" {
		if err := c.AddCatalog(ctx, choice.Source, choice.Catalog); err != nil {
			return err
		}
		if choice.Poll > 0 {
			if err := c.Poll(ctx, choice.Source, choice.Poll); err != nil {
				return err
			}
		}
		if err := c.WaitCatalog(ctx, choice.Source, 3*time.Minute); err != nil {
			return err
		}
	}
	return c.Subscribe(ctx, folder, choice)
}

// Subscribe creates the Subscription of Choose. The other manifests are applied already.
func (c *Cluster) Subscribe(ctx context.Context, folder string, choice Choice) error {
	file, _, err := manifests(folder)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the Subscription: %w", err)
	}
	var sub operatorsv1alpha1.Subscription
	if err := yaml.Unmarshal(content, &sub); err != nil {
		return fmt.Errorf("read the Subscription in %s: %w", file, err)
	}
	sub.Spec.Channel, sub.Spec.StartingCSV = choice.Channel, CSVName(choice.Version)
	sub.Spec.InstallPlanApproval = operatorsv1alpha1.ApprovalManual
	if choice.Automatic {
		sub.Spec.InstallPlanApproval = operatorsv1alpha1.ApprovalAutomatic
	}
	if choice.Source != "" {
		sub.Spec.CatalogSource = choice.Source
	}
	if err := c.Client.Create(ctx, &sub); err != nil {
		return fmt.Errorf("create the Subscription: %w", err)
	}
	return nil
}

// SetChannel changes the channel of the Subscription.
func (c *Cluster) SetChannel(ctx context.Context, channel string) error {
	return c.patch(ctx, &operatorsv1alpha1.Subscription{}, Package, fmt.Sprintf(`{"spec":{"channel":%q}}`, channel))
}

// SetSource waits until the catalog of another CatalogSource is served, and makes the Subscription follow it.
func (c *Cluster) SetSource(ctx context.Context, name string) error {
	if err := c.WaitCatalog(ctx, name, 3*time.Minute); err != nil {
		return err
	}
	return c.patch(ctx, &operatorsv1alpha1.Subscription{}, Package, fmt.Sprintf(`{"spec":{"source":%q}}`, name))
}

// SetUpgradeStrategy sets the upgrade strategy of the OperatorGroup. After a release that failed, Default upgrades no
// further, and UnsafeFailForward upgrades to the release that replaces it.
func (c *Cluster) SetUpgradeStrategy(ctx context.Context, strategy operatorsv1.UpgradeStrategy) error {
	return c.patch(ctx, &operatorsv1.OperatorGroup{}, Package, fmt.Sprintf(`{"spec":{"upgradeStrategy":%q}}`, strategy))
}

// patch merges a patch into an object in the operator's namespace.
func (c *Cluster) patch(ctx context.Context, object client.Object, name, patch string) error {
	object.SetNamespace(Namespace)
	object.SetName(name)
	if err := c.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("patch %T %s: %w", object, name, err)
	}
	return nil
}

// WaitPlan waits until an InstallPlan for the version requires approval. OLM may lose an approval that comes earlier. If OLM
// keeps an outdated result, WaitPlan makes it resolve again.
func (c *Cluster) WaitPlan(ctx context.Context, version string, d time.Duration) (*operatorsv1alpha1.InstallPlan, error) {
	var found *operatorsv1alpha1.InstallPlan
	err := Within(ctx, d, "an InstallPlan for "+CSVName(version)+" to wait for approval", func(ctx context.Context) error {
		var plans operatorsv1alpha1.InstallPlanList
		if err := c.Client.List(ctx, &plans, client.InNamespace(Namespace)); err != nil {
			return err
		}
		seen := "no InstallPlan for it"
		for _, plan := range plans.Items {
			if !slices.Contains(plan.Spec.ClusterServiceVersionNames, CSVName(version)) {
				continue
			}
			seen = fmt.Sprintf("InstallPlan %s is %s", plan.Name, plan.Status.Phase)
			if plan.Status.Phase == operatorsv1alpha1.InstallPlanPhaseRequiresApproval {
				found = &plan
				return nil
			}
		}
		if err := c.resolveAgain(ctx); err != nil {
			return err
		}
		return errors.New(seen)
	})
	return found, err
}

// Approve approves an InstallPlan that WaitPlan returned.
func (c *Cluster) Approve(ctx context.Context, plan *operatorsv1alpha1.InstallPlan) error {
	return c.patch(ctx, &operatorsv1alpha1.InstallPlan{}, plan.Name, `{"spec":{"approved":true}}`)
}

// WaitOnly waits until the version is installed, as WaitInstalled does, and no other version of the operator is left.
func (c *Cluster) WaitOnly(ctx context.Context, version string, d time.Duration) error {
	start := time.Now()
	if err := c.WaitInstalled(ctx, version, d); err != nil {
		return err
	}
	return Within(ctx, d-time.Since(start), "the versions before "+version+" to go", func(ctx context.Context) error {
		csvs, err := c.Versions(ctx)
		if err != nil {
			return err
		}
		var others []string
		for _, csv := range csvs {
			if csv.Name != CSVName(version) {
				others = append(others, fmt.Sprintf("%s is %s", csv.Name, csv.Status.Phase))
			}
		}
		if len(others) > 0 {
			return errors.New(strings.Join(others, ", "))
		}
		return nil
	})
}

// Versions returns the ClusterServiceVersions of the operator in its namespace.
func (c *Cluster) Versions(ctx context.Context) ([]operatorsv1alpha1.ClusterServiceVersion, error) {
	var csvs operatorsv1alpha1.ClusterServiceVersionList
	if err := c.Client.List(ctx, &csvs, client.InNamespace(Namespace)); err != nil {
		return nil, fmt.Errorf("list the installed versions: %w", err)
	}
	return slices.DeleteFunc(csvs.Items, func(csv operatorsv1alpha1.ClusterServiceVersion) bool {
		return !strings.HasPrefix(csv.Name, Package+".")
	}), nil
}

// WaitPhase waits until the version is in the phase for the reason, and returns it.
func (c *Cluster) WaitPhase(ctx context.Context, version string, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason, d time.Duration) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	var csv operatorsv1alpha1.ClusterServiceVersion
	err := Within(ctx, d, fmt.Sprintf("%s to be %s/%s", CSVName(version), phase, reason), func(ctx context.Context) error {
		if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: CSVName(version)}, &csv); err != nil {
			return err
		}
		if csv.Status.Phase != phase || csv.Status.Reason != reason {
			return fmt.Errorf("it is %s/%s: %s", csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
		}
		return nil
	})
	return &csv, err
}

// Withdraw deletes the Subscription and every version, and waits until the operator has stopped and no InstallPlan is left: while there is
// one, OLM 0.46 may write the status of the Subscription into a new one of its name. Resources and their CRDs stay.
func (c *Cluster) Withdraw(ctx context.Context) error {
	if err := c.deleteVersions(ctx); err != nil {
		return err
	}
	return Within(ctx, 2*time.Minute, "the operator to stop", func(ctx context.Context) error {
		pods, err := c.OperatorPods(ctx)
		var plans operatorsv1alpha1.InstallPlanList
		err = errors.Join(err, c.Client.List(ctx, &plans, client.InNamespace(Namespace)))
		if err == nil && len(pods)+len(plans.Items) > 0 {
			err = fmt.Errorf("%d pods of it and %d InstallPlans are there", len(pods), len(plans.Items))
		}
		return err
	})
}
