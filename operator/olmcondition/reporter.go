package olmcondition

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// timing contains the intervals of a Reporter.
type timing struct {
	// reassert is the time between the leader's checks of the condition.
	reassert time.Duration

	// reword is how long a new message waits for further changes while the status stays the same.
	reword time.Duration

	// retry is the time between failed attempts.
	retry time.Duration

	// attempt is the timeout of an attempt.
	attempt time.Duration
}

var usual = timing{reassert: time.Minute, reword: 5 * time.Second, retry: 2 * time.Second, attempt: 10 * time.Second}

// Reporter keeps the condition Upgradeable of an OperatorCondition up to date.
type Reporter struct {
	// Key names the OperatorCondition.
	Key client.ObjectKey

	// Client accesses the API server without a cache.
	Client client.Client

	// Work tracks the rollouts in progress.
	Work *Tracker

	// List returns all objects that may be in a rollout.
	List func(context.Context) ([]Object, error)

	// Recorder emits an event about the OperatorCondition when the status changes.
	Recorder record.EventRecorder

	// Gauge receives the last reported status.
	Gauge func(upgradeable bool)

	// Clock provides the transition time of the condition and the timers.
	Clock clock.WithTicker

	timing  timing
	ensured atomic.Bool
	writing sync.Mutex
}

// SetUp adds to a manager the task of every replica, the task of the leader, and a readiness check that fails until the
// condition exists.
func (r *Reporter) SetUp(mgr manager.Manager) error {
	if r.timing == (timing{}) {
		r.timing = usual
	}
	if err := mgr.AddReadyzCheck("operatorcondition", r.Ready); err != nil {
		return fmt.Errorf("add the readiness check of the OperatorCondition: %w", err)
	}
	for _, task := range r.tasks() {
		if err := mgr.Add(task); err != nil {
			return fmt.Errorf("add the reports to the OperatorCondition: %w", err)
		}
	}
	return nil
}

func (r *Reporter) tasks() []task {
	return []task{{run: r.ensure}, {run: r.report, leader: true}}
}

// task is a runnable of every replica, or of the leader alone.
type task struct {
	run    func(context.Context) error
	leader bool
}

// Start implements manager.Runnable.
func (t task) Start(ctx context.Context) error { return t.run(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (t task) NeedLeaderElection() bool { return t.leader }

// Ready is a readiness check: it fails until the condition has been read or written once.
func (r *Reporter) Ready(*http.Request) error {
	if !r.ensured.Load() {
		return fmt.Errorf("OperatorCondition %s has no condition Upgradeable yet; see the log", r.Key)
	}
	return nil
}

// ensure retries until the condition exists. It does not change an existing one, because only the leader knows the
// rollouts in progress. A new condition is True only if there is no object that could be in a rollout: OLM upgrades an operator
// at once that has become ready and has this condition.
func (r *Reporter) ensure(ctx context.Context) error {
	failure := failure{message: "Not ready: cannot write the condition Upgradeable; retrying"}
	for {
		_, err := r.write(ctx, true)
		if err == nil {
			r.ensured.Store(true)
			return nil
		}
		failure.log(ctx, r.Key, err)
		select {
		case <-ctx.Done():
			return nil
		case <-r.Clock.After(r.timing.retry):
		}
	}
}

// report writes the condition at the start, when a rollout begins or ends, and at intervals in case another client
// has changed it. An earlier process may have left the condition True, and only reconciles tell what is true now.
func (r *Reporter) report(ctx context.Context) error {
	failure := failure{message: "Cannot write the condition Upgradeable; retrying"}
	reported, due := metav1.ConditionUnknown, r.Clock.Now()
	for {
		timer := r.Clock.NewTimer(due.Sub(r.Clock.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.Work.Changed():
			timer.Stop()
			due = slices.MinFunc([]time.Time{due, r.Clock.Now().Add(r.patience(reported))}, time.Time.Compare)
			continue
		case <-timer.C():
		}
		status, err := r.refresh(ctx)
		if err != nil {
			failure.log(ctx, r.Key, err)
			due = r.Clock.Now().Add(r.timing.retry)
			continue
		}
		failure.logged = ""
		reported, due = status, r.Clock.Now().Add(r.timing.reassert)
		r.Gauge(status == metav1.ConditionTrue)
	}
}

// patience returns how long a change may wait: not at all if it changes the status.
func (r *Reporter) patience(reported metav1.ConditionStatus) time.Duration {
	if status, _, _ := Assess(r.Work.Findings()); status != reported {
		return 0
	}
	return r.timing.reword
}

// refresh tells the tracker which objects exist, while it waits for any, and writes the condition. If the objects cannot be listed,
// the condition says that nothing is known yet.
func (r *Reporter) refresh(ctx context.Context) (metav1.ConditionStatus, error) {
	var listErr error
	if now := r.Work.Findings(); !now.Listed || len(now.NotAssessed) > 0 {
		var objects []Object
		if objects, listErr = r.list(ctx); listErr == nil {
			r.Work.Expect(objects)
		}
	}
	status, err := r.write(ctx, false)
	return status, errors.Join(listErr, err)
}

func (r *Reporter) list(ctx context.Context) ([]Object, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timing.attempt)
	defer cancel()
	objects, err := r.List(ctx)
	slices.SortFunc(objects, Object.compare)
	return objects, err
}

// write makes the condition match Assess and returns its status. It writes only if there is a difference. With keep, it
// does not change an existing condition. Conditions of other types stay.
func (r *Reporter) write(ctx context.Context, keep bool) (status metav1.ConditionStatus, err error) {
	r.writing.Lock() // In the leader, both tasks write.
	defer r.writing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.timing.attempt)
	defer cancel()
	_ = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		status, err = r.attempt(ctx, keep)
		return err
	}) // Its own result is nil if the context has expired.
	return status, err
}

func (r *Reporter) attempt(ctx context.Context, keep bool) (metav1.ConditionStatus, error) {
	found := &operatorsv2.OperatorCondition{}
	if err := r.Client.Get(ctx, r.Key, found); err != nil {
		return "", err
	}
	before := meta.FindStatusCondition(found.Spec.Conditions, operatorsv2.Upgradeable)
	if before != nil && keep {
		return before.Status, nil
	}
	now := metav1.Condition{Type: operatorsv2.Upgradeable, LastTransitionTime: metav1.NewTime(r.Clock.Now())}
	findings := r.Work.Findings()
	if keep && !findings.Listed {
		objects, err := r.list(ctx)
		if err != nil {
			return "", err
		}
		findings.Listed, findings.NotAssessed = true, objects
	}
	now.Status, now.Reason, now.Message = Assess(findings)
	changed := found.DeepCopy()
	if !meta.SetStatusCondition(&changed.Spec.Conditions, now) {
		return now.Status, nil
	}
	// A merge patch replaces the whole list, so it needs the resourceVersion.
	patch := client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{})
	//nolint:forbidigo // The OperatorCondition belongs to OLM and is part of no plan.
	if err := r.Client.Patch(ctx, changed, patch); err != nil {
		return "", err
	}
	if before == nil || before.Status != now.Status {
		r.announce(ctx, found, now)
	}
	return now.Status, nil
}

// announce reports a new status. A new message alone causes no event.
func (r *Reporter) announce(ctx context.Context, object *operatorsv2.OperatorCondition, now metav1.Condition) {
	log.FromContext(ctx).Info("Upgradeable is "+string(now.Status),
		"operatorCondition", r.Key.String(), "reason", now.Reason, "message", now.Message)
	r.Recorder.Eventf(object, corev1.EventTypeNormal, now.Reason, "Upgradeable is %s: %s", now.Status, now.Message)
}

// failure logs each cause of a repeated failure once.
type failure struct{ message, logged string }

func (f *failure) log(ctx context.Context, key client.ObjectKey, err error) {
	if cause := explain(err); ctx.Err() == nil && cause != f.logged {
		f.logged = cause
		log.FromContext(ctx).Info(f.message, "operatorCondition", key.String(), "cause", cause)
	}
}

// explain describes an error for a reader of the log. OLM creates the OperatorCondition first, then the permission and
// last the Deployment, so the first two cases resolve by themselves.
func explain(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "it does not exist: OLM creates it for each installed version, also after a deletion"
	case apierrors.IsForbidden(err):
		return "OLM has not granted access to it yet: " + err.Error()
	}
	return err.Error()
}
