package olmcondition

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

func condition(kind string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: "ByHand", Message: "Somebody else says so",
		LastTransitionTime: metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
}

func TestTheConditionFollowsTheRollouts(t *testing.T) {
	s := installedByOLM(t)
	s.start(fast)
	first := s.await(metav1.ConditionTrue)
	if first.Reason != ReasonNothingInProgress || first.LastTransitionTime.IsZero() {
		t.Errorf("the condition is %+v", first)
	}
	s.awaitGauge(true)

	one, two := rolling("Memcached", "default", "one"), rolling("Memcached", "default", "two")
	s.work.Assessed(one, true, never)
	if second := s.await(metav1.ConditionFalse, "Memcached default/one", "spec.overrides"); second.Reason != ReasonRolloutInProgress {
		t.Errorf("the condition is %+v", second)
	}
	s.awaitGauge(false)
	s.awaitEvent(ReasonRolloutInProgress, "Upgradeable is False: ")
	s.work.Assessed(two, true, never)
	s.await(metav1.ConditionFalse, "Memcached default/one, Memcached default/two")
	s.work.Assessed(one, false, never)
	s.await(metav1.ConditionFalse, "wait for Memcached default/two.")
	s.work.Assessed(two, false, never)
	s.await(metav1.ConditionTrue)
	s.awaitGauge(true)
	s.awaitEvent(ReasonNothingInProgress, "Upgradeable is True: ")

	s.operator.Stop()
	s.await(metav1.ConditionTrue) // An entry that is removed would go on blocking.
}

// A new status is written at once; a new message may wait.
func TestManyChangesAreFewWrites(t *testing.T) {
	s := installedByOLM(t)
	calm := usual
	calm.reassert, calm.reword = time.Hour, time.Hour
	s.start(calm)
	s.await(metav1.ConditionTrue)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.work.Assessed(rolling("Memcached", "default", name), true, never)
		s.await(metav1.ConditionFalse, "default/a") // From the second on, only the message changes.
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.work.Assessed(rolling("Memcached", "default", name), false, never)
	}
	s.await(metav1.ConditionTrue)
	if writes := s.operator.Traffic.Writes(); len(writes) != 3 {
		t.Errorf("%d writes, want True, False and True: %v", len(writes), writes)
	}
}

func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	s := installedByOLM(t)
	s.start(fast)
	s.await(metav1.ConditionTrue)
	s.awaitReads(3)
	writes := s.operator.Traffic.Writes()
	s.awaitReads(10)
	if now := s.operator.Traffic.Writes(); len(now) != len(writes) || len(writes) != 1 {
		t.Errorf("wrote %v, then %v", writes, now[len(writes):])
	}
	for _, request := range append(s.operator.Traffic.LiveReads(), s.operator.Traffic.Writes()...) {
		unanswered := request.Code == 0 // The last one may be on its way.
		if path.Base(request.Path) != s.key.Name || request.Code != http.StatusOK && !unanswered {
			t.Errorf("OLM does not permit %v", request)
		}
	}
	if watches := s.operator.Traffic.Watches(); len(watches) > 0 {
		t.Errorf("watches %v", watches)
	}
}

func TestAConditionThatIsChangedByHandIsRestored(t *testing.T) {
	for name, patch := range map[string]string{
		"another status": `{"spec":{"conditions":[{"type":"Upgradeable","status":"False","reason":"ByHand","message":"Stop","lastTransitionTime":"2030-01-02T03:04:05Z"}]}}`,
		"no entry":       `{"spec":{"conditions":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := installedByOLM(t)
			s.start(fast)
			s.await(metav1.ConditionTrue)
			object, err := s.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.Client.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
				t.Fatal(err)
			}
			s.await(metav1.ConditionTrue, "No rollout is in progress")
		})
	}
}

func TestWhatOthersHaveWrittenIsKept(t *testing.T) {
	s := installedByOLM(t, condition("Others", metav1.ConditionFalse))
	override := []metav1.Condition{condition(operatorsv2.Upgradeable, metav1.ConditionTrue)}
	object, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	object.Spec.Overrides = override
	if err := cluster.Client.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	s.start(fast)
	s.await(metav1.ConditionTrue)
	s.work.Assessed(rolling("Memcached", "default", "cache"), true, never)
	s.await(metav1.ConditionFalse)
	if object, err = s.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept := apimeta.FindStatusCondition(object.Spec.Conditions, "Others")
	if difference := cmp.Diff(condition("Others", metav1.ConditionFalse), *kept); difference != "" {
		t.Errorf("the condition of somebody else (-want +got):\n%s", difference)
	}
	if difference := cmp.Diff(override, object.Spec.Overrides); difference != "" {
		t.Errorf("the override (-want +got):\n%s", difference)
	}
	if len(object.Spec.Conditions) != 2 || len(object.Spec.Deployments) != 1 {
		t.Errorf("the spec is %+v", object.Spec)
	}
}

// racing changes the object once between the operator's read and its write.
type racing struct {
	client.Client
	once sync.Once
	act  func()
}

func (r *racing) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := r.Client.Get(ctx, key, into, options...)
	r.once.Do(r.act)
	return err
}

func TestAConflictIsRetriedAndLosesNothing(t *testing.T) {
	s := installedByOLM(t)
	s.start(fast, func(direct client.Client) client.Client {
		return &racing{Client: direct, act: func() {
			object, err := s.get(t.Context())
			if err == nil {
				object.Spec.Conditions = []metav1.Condition{condition("Others", metav1.ConditionTrue)}
				err = cluster.Client.Update(t.Context(), object)
			}
			if err != nil {
				t.Error(err)
			}
		}}
	})
	s.await(metav1.ConditionTrue)
	object, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if apimeta.FindStatusCondition(object.Spec.Conditions, "Others") == nil {
		t.Errorf("the condition of somebody else is gone: %+v", object.Spec.Conditions)
	}
	conflicts := 0
	for _, write := range s.operator.Traffic.Writes() {
		if write.Code == http.StatusConflict {
			conflicts++
		}
	}
	if conflicts != 1 {
		t.Errorf("%d conflicts: the race did not happen", conflicts)
	}
}

// Until then it logs once what it waits for.
func TestTheOperatorIsReadyOnceTheConditionIsWritten(t *testing.T) {
	s := newSuite(t)
	s.start(fast)
	s.operator.Stop()
	if err := s.reporter.Ready(nil); err == nil || !strings.Contains(err.Error(), s.key.String()) {
		t.Errorf("Ready says %v", err)
	}

	logged := make(chan string, 100)
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { logged <- line }, funcr.Options{}))
	ended := make(chan error, 1)
	go func() { ended <- s.reporter.ensure(ctx) }()
	awaitLine(t, logged, "Not ready", s.key.Name, "has not granted access")
	s.grant()
	awaitLine(t, logged, "Not ready", "does not exist")
	if err := s.reporter.Ready(nil); err == nil {
		t.Error("ready without an OperatorCondition")
	}
	s.create()
	s.await(metav1.ConditionTrue)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.reporter.Ready(nil); err != nil {
		t.Errorf("not ready although the condition is written: %v", err)
	}
	awaitLine(t, logged, "Upgradeable is True")
}

func awaitLine(t *testing.T, logged <-chan string, mentions ...string) {
	t.Helper()
	select {
	case line := <-logged:
		for _, mention := range mentions {
			if !strings.Contains(line, mention) {
				t.Errorf("the log lacks %q: %s", mention, line)
			}
		}
	case <-time.After(testkit.Patience):
		t.Fatalf("nothing in the log about %q", mentions)
	}
}

// silent is an API server that does not answer in time.
type silent struct{ client.Client }

func (silent) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestNoAnswerIsNoSuccess(t *testing.T) {
	hasty := fast
	hasty.attempt = time.Millisecond
	reporter := &Reporter{Client: silent{}, Work: NewTracker(clock.RealClock{}), timing: hasty}
	if _, err := reporter.write(t.Context(), false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

// Only the leader knows the rollouts in progress.
func TestAReplicaThatDoesNotLeadKeepsTheCondition(t *testing.T) {
	s := installedByOLM(t, condition(operatorsv2.Upgradeable, metav1.ConditionFalse))
	s.reporter = &Reporter{Key: s.key, Client: cluster.Client, Work: s.work, timing: fast}
	if err := errors.Join(s.reporter.ensure(t.Context()), s.reporter.Ready(nil)); err != nil {
		t.Error(err)
	}
	s.await(metav1.ConditionFalse, "Somebody else says so")
	if tasks := s.reporter.tasks(); len(tasks) != 2 || tasks[0].NeedLeaderElection() || !tasks[1].NeedLeaderElection() {
		t.Error("the parts run on the wrong replicas")
	}
}
