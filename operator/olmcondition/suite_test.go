package olmcondition

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/operator-framework/api/crds"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// installed makes the API server know OLM's kind.
var installed = sync.OnceValue(func() error {
	_, err := envtest.InstallCRDs(cluster.Config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{crds.OperatorCondition()},
	})
	return err
})

// suite is what every test starts from: a namespace in which the test plays OLM, and an operator that is not running yet.
type suite struct {
	*testing.T
	key      client.ObjectKey
	work     *Tracker
	reporter *Reporter
	operator *cluster.Operator
	gauge    atomic.Value
	objects  atomic.Value
}

// fast looks often, so that tests do not take minutes.
var fast = timing{reassert: 50 * time.Millisecond, reword: 50 * time.Millisecond, retry: 50 * time.Millisecond, attempt: testkit.Patience}

func newSuite(t *testing.T) *suite {
	t.Helper()
	t.Parallel()
	if err := installed(); err != nil {
		t.Fatal(err)
	}
	return &suite{T: t, key: client.ObjectKey{Namespace: cluster.Namespace(t), Name: "memcached-operator.v1.2.3"}, work: NewTracker(clock.RealClock{})}
}

// exist says which objects exist; none before it is called.
func (s *suite) exist(objects ...Object) { s.objects.Store(objects) }

func (s *suite) list(context.Context) ([]Object, error) {
	objects, _ := s.objects.Load().([]Object)
	return slices.Clone(objects), nil
}

// account is the operator's own.
func (s *suite) account() string { return "system:serviceaccount:" + s.key.Namespace + ":operator" }

// grant permits what OLM permits, and no more.
func (s *suite) grant() {
	s.Helper()
	object := metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}
	role := &rbacv1.Role{ObjectMeta: object, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"operators.coreos.com"}, Resources: []string{"operatorconditions"},
		ResourceNames: []string{s.key.Name}, Verbs: []string{"get", "update", "patch"},
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: object,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.account()}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := cluster.Client.Create(s.Context(), object); err != nil {
			s.Fatal(err)
		}
	}
}

// create makes the OperatorCondition.
func (s *suite) create(conditions ...metav1.Condition) {
	s.Helper()
	err := cluster.Client.Create(s.Context(), &operatorsv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name},
		Spec:       operatorsv2.OperatorConditionSpec{Deployments: []string{"operator"}, Conditions: conditions},
	})
	if err != nil {
		s.Fatal(err)
	}
}

// installedByOLM is the usual beginning.
func installedByOLM(t *testing.T, conditions ...metav1.Condition) *suite {
	t.Helper()
	s := newSuite(t)
	s.grant()
	s.create(conditions...)
	return s
}

// start starts the operator. All it asks of the API server about its OperatorCondition, it asks as its own account.
func (s *suite) start(timing timing, wrap ...func(client.Client) client.Client) {
	s.Helper()
	s.operator = cluster.StartOperator(s.T, cluster.Config, func(config *rest.Config) (manager.Manager, error) {
		mgr, err := manager.New(config, manager.Options{Scheme: cluster.Scheme, Metrics: server.Options{BindAddress: "0"}})
		if err != nil {
			return nil, err
		}
		config = rest.CopyConfig(config)
		config.Impersonate.UserName = s.account()
		direct, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
		if err != nil {
			return nil, err
		}
		for _, wrap := range wrap {
			direct = wrap(direct)
		}
		s.reporter = &Reporter{
			Key: s.key, Client: direct, Work: s.work, List: s.list, Clock: clock.RealClock{}, timing: timing,
			Recorder: mgr.GetEventRecorderFor("memcached-operator"), //nolint:staticcheck // As the manager does.
			Gauge:    func(upgradeable bool) { s.gauge.Store(upgradeable) },
		}
		return mgr, s.reporter.SetUp(mgr)
	})
}

func (s *suite) get(ctx context.Context) (*operatorsv2.OperatorCondition, error) {
	object := &operatorsv2.OperatorCondition{}
	return object, cluster.Client.Get(ctx, s.key, object)
}

// await waits until the condition has a status and its message mentions all that is given.
func (s *suite) await(status metav1.ConditionStatus, mentions ...string) *metav1.Condition {
	s.Helper()
	var condition *metav1.Condition
	testkit.Await(s.T, fmt.Sprintf("Upgradeable is %s and mentions %q", status, mentions), func(ctx context.Context) error {
		object, err := s.get(ctx)
		if err != nil {
			return err
		}
		condition = apimeta.FindStatusCondition(object.Spec.Conditions, operatorsv2.Upgradeable)
		if condition == nil || condition.Status != status {
			return fmt.Errorf("conditions are %+v", object.Spec.Conditions)
		}
		for _, mention := range mentions {
			if !strings.Contains(condition.Message, mention) {
				return fmt.Errorf("the message is %q", condition.Message)
			}
		}
		return nil
	})
	return condition
}

// awaitGauge waits until the metric says whether the operator can be upgraded.
func (s *suite) awaitGauge(want bool) {
	s.Helper()
	testkit.Await(s.T, fmt.Sprintf("the metric says %t", want), func(context.Context) error {
		if got := s.gauge.Load(); got != want {
			return fmt.Errorf("it says %v", got)
		}
		return nil
	})
}

// awaitEvent waits for an event on the OperatorCondition.
func (s *suite) awaitEvent(reason, mentions string) {
	s.Helper()
	testkit.Await(s.T, "an event "+reason, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := cluster.Client.List(ctx, events, client.InNamespace(s.key.Namespace)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == reason && event.InvolvedObject.Name == s.key.Name && strings.Contains(event.Message, mentions) {
				return nil
			}
		}
		return fmt.Errorf("events are %+v", events.Items)
	})
}

// awaitReads waits until the operator has looked at the OperatorCondition some more times.
func (s *suite) awaitReads(more int) {
	s.Helper()
	before := len(s.operator.Traffic.LiveReads())
	testkit.Await(s.T, fmt.Sprintf("%d more reads", more), func(context.Context) error {
		if now := len(s.operator.Traffic.LiveReads()); now < before+more {
			return fmt.Errorf("%d so far", now-before)
		}
		return nil
	})
}
