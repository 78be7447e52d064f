// Package testenv runs the operator in a namespace of a test cluster, and holds what the tests of both controllers ask of
// it. What only one kind has belongs in the tests of that kind.
package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// Env is a namespace in which the operator runs.
type Env struct {
	*testing.T

	// Namespace is where everything happens.
	Namespace string

	// Options are those of the operator that StartOperator starts.
	Options manager.Options

	// Operator is the one that runs.
	Operator *cluster.Operator

	metrics *prometheus.Registry
}

// New makes a namespace and runs the operator in it, and in the namespaces that options name, until the end of the test.
// Tests that call it run in parallel.
func New(t *testing.T, options manager.Options) *Env {
	t.Helper()
	t.Parallel()
	e := &Env{T: t, Namespace: cluster.Namespace(t), Options: options}
	e.Options.MetricsAddress, e.Options.HealthAddress = "0", "0"
	e.Options.WatchNamespaces = append(e.Options.WatchNamespaces, e.Namespace)
	e.StartOperator()
	t.Cleanup(func() {
		if t.Failed() {
			e.dump()
		}
	})
	return e
}

// StartOperator starts the operator as a new process, which remembers nothing. The agents of its pods answer, unless the options say what
// they do.
func (e *Env) StartOperator() {
	e.Helper()
	e.metrics = prometheus.NewRegistry()
	e.Options.Metrics, e.Options.Work = e.metrics, olmcondition.NewTracker(clock.RealClock{})
	options := e.Options
	if options.AgentStates == nil {
		options.AgentStates = cluster.Agents(options.Images.VersionOf)
	}
	e.Operator = cluster.StartOperator(e.T, cluster.OperatorConfig, func(config *rest.Config) (ctrlmanager.Manager, error) {
		return manager.New(config, options)
	})
}

// RestartOperator stops the operator, starts another one and waits until that has reconciled something.
func (e *Env) RestartOperator() {
	e.Helper()
	e.Operator.Stop()
	e.StartOperator()
	e.awaitReconciles(1)
}

// HoldContainers keeps the containers that start from now on in the state Waiting, for the given reason. Without a reason
// they run.
func (e *Env) HoldContainers(reason string) { cluster.HoldContainers(e.Namespace, reason) }

// DeletePods deletes all pods at once. Those who own them make new ones.
func (e *Env) DeletePods() {
	e.Helper()
	err := cluster.Client.DeleteAllOf(e.Context(), &corev1.Pod{}, client.InNamespace(e.Namespace), client.GracePeriodSeconds(0))
	if err != nil {
		e.Fatal(err)
	}
}

// Create creates an object.
func (e *Env) Create(object client.Object) {
	e.Helper()
	if err := cluster.Client.Create(e.Context(), object); err != nil {
		e.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// Read reads an object of the same kind and name.
func (e *Env) Read(ctx context.Context, object client.Object) error {
	return cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// Edit changes an object by hand, with a JSON merge patch.
func (e *Env) Edit(object client.Object, patch string) {
	e.Helper()
	err := cluster.Client.Patch(e.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)))
	if err != nil {
		e.Fatalf("edit %T %s: %v", object, object.GetName(), err)
	}
}

// Delete deletes an object.
func (e *Env) Delete(object client.Object, options ...client.DeleteOption) {
	e.Helper()
	if err := cluster.Client.Delete(e.Context(), object, options...); err != nil {
		e.Fatalf("delete %T %s: %v", object, object.GetName(), err)
	}
}

// Await polls until check returns nil. If that does not happen in time, the test fails.
func (e *Env) Await(what string, check func(context.Context) error) {
	e.Helper()
	testkit.Await(e.T, what, check)
}

// reconciles returns how often the operator has reconciled something since it was started.
func (e *Env) reconciles() float64 {
	e.Helper()
	families, err := e.metrics.Gather()
	if err != nil {
		e.Fatal(err)
	}
	var total float64
	for _, family := range families {
		if family.GetName() == "memcached_operator_reconcile_outcomes_total" {
			for _, metric := range family.GetMetric() {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	return total
}

func (e *Env) awaitReconciles(count float64) {
	e.Helper()
	e.Await(fmt.Sprintf("%v reconciles", count), func(context.Context) error {
		if now := e.reconciles(); now < count {
			return fmt.Errorf("%v so far", now)
		}
		return nil
	})
}

// dump shows what is in the namespace.
func (e *Env) dump() {
	const kinds = "applications,memcacheds,deployments,statefulsets,services,ingresses,poddisruptionbudgets,pods,events"
	kubectl := exec.Command(cluster.Program("kubectl"), "--kubeconfig", cluster.Kubeconfig, "-n", e.Namespace, "get", kinds, "-o", "yaml")
	output, err := kubectl.CombinedOutput()
	e.Logf("%s%v\nwrites: %v", output, err, e.Operator.Traffic.Writes())
}
