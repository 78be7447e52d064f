package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/report"
	"github.com/example/memcached-operator/operator/memcached/controller"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// forbidding reads no Secrets.
type forbidding struct{ client.Reader }

func (f forbidding) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, ok := into.(*corev1.Secret); ok {
		return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, errors.New("not this one"))
	}
	return f.Reader.Get(ctx, key, into, options...)
}

// A Secret that may not be read is a condition, and counts as a failed reconcile. Nothing is changed meanwhile.
func TestASecretThatMayNotBeReadIsReported(t *testing.T) {
	registry := prometheus.NewRegistry()
	counted, err := metrics.Register(registry, cluster.Client)
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &controller.Reconciler{
		Client: cluster.Client, Applier: apply.New(cluster.Client, cluster.Client, cluster.Client, cluster.Scheme, time.Minute), Clock: clock.RealClock{},
		Reporter: &report.Reporter{
			Kind: v1alpha1.MemcachedKind, Client: cluster.Client, Recorder: record.NewFakeRecorder(9), Metrics: counted, Work: olmcondition.NewTracker(clock.RealClock{}),
			Clock: clock.RealClock{},
		},
		Inputs: &inputs.Reader{
			Cached: cluster.Client, Live: forbidding{cluster.Client}, Images: images,
			Features: func() (inputs.Features, error) { return inputs.Features{}, nil },
		},
	}
	memcached := testkit.MakeMemcached("cache").Namespace(cluster.Namespace(t)).Size(1).Obj()
	memcached.Spec.Auth = &v1alpha1.MemcachedAuth{SecretName: "users"}
	if err := cluster.Client.Create(t.Context(), memcached); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(memcached)
	if _, err := reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err == nil {
		t.Error("the reconcile is not repeated")
	}
	if err := cluster.Client.Get(t.Context(), key, memcached); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1alpha1.ConditionDegraded, v1alpha1.ConditionReady} {
		condition := meta.FindStatusCondition(memcached.Status.Conditions, kind)
		if condition == nil || condition.Reason != v1alpha1.ReasonReconcileError || !strings.Contains(condition.Message, `secrets "users" is forbidden`) {
			t.Errorf("the condition %s is %+v", kind, condition)
		}
	}
	if err := cluster.Client.Get(t.Context(), key, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment: %v", err)
	}
	failed := `memcached_operator_reconcile_outcomes_total{kind="Memcached",outcome="Error",reason=""} 1`
	if samples := agenttesting.Metrics(t, registry); !slices.Contains(samples, failed) {
		t.Errorf("the metrics lack %s: %v", failed, samples)
	}
}
