package walk

import (
	"context"
	"errors"
	"fmt"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operatorCondition reads the OperatorCondition of a version.
func (c *Cluster) operatorCondition(ctx context.Context, version string) (*operatorsv2.OperatorCondition, error) {
	var condition operatorsv2.OperatorCondition
	if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: CSVName(version)}, &condition); err != nil {
		return nil, fmt.Errorf("read the OperatorCondition of %s: %w", version, err)
	}
	return &condition, nil
}

// Report writes into the OperatorCondition of a version, as its operator would, whether it can be upgraded, and waits until OLM
// has observed that.
func (c *Cluster) Report(ctx context.Context, version string, upgradeable metav1.ConditionStatus, reason, message string) error {
	condition, err := c.operatorCondition(ctx, version)
	if err != nil {
		return err
	}
	before := condition.DeepCopy()
	meta.SetStatusCondition(&condition.Spec.Conditions, metav1.Condition{Type: operatorsv2.Upgradeable, Status: upgradeable, Reason: reason, Message: message})
	if err := c.Client.Patch(ctx, condition, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the OperatorCondition of %s: %w", version, err)
	}
	return c.WaitReported(ctx, version, upgradeable, time.Minute)
}

// WaitReported waits until the operator of the version reports the given status, and OLM has observed it.
func (c *Cluster) WaitReported(ctx context.Context, version string, upgradeable metav1.ConditionStatus, d time.Duration) error {
	what := fmt.Sprintf("%s to report %s=%s", CSVName(version), operatorsv2.Upgradeable, upgradeable)
	return Within(ctx, d, what, func(ctx context.Context) error {
		condition, err := c.operatorCondition(ctx, version)
		if err != nil {
			return err
		}
		spec := meta.FindStatusCondition(condition.Spec.Conditions, operatorsv2.Upgradeable)
		status := meta.FindStatusCondition(condition.Status.Conditions, operatorsv2.Upgradeable)
		switch {
		case spec == nil:
			return errors.New("spec has no such condition")
		case status == nil || status.ObservedGeneration != condition.Generation:
			return errors.New("OLM has not observed it")
		case spec.Status != upgradeable || status.Status != upgradeable:
			return fmt.Errorf("it is %s in spec (%s), %s in status", spec.Status, spec.Message, status.Status)
		}
		return nil
	})
}
