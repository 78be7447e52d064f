package olmcondition

import (
	"context"
	"fmt"
	"net/http"
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

// timing is how often things are done.
type timing struct {
	// reassert is how often the leader looks whether the condition still says what it wrote.
	reassert time.Duration

	// reword is how long a new message may wait for another one, if the status stays what it is.
	reword time.Duration

	// retry is the time between attempts that fail.
	retry time.Duration

	// attempt is how long an attempt may take.
	attempt time.Duration
}

var usual = timing{reassert: time.Minute, reword: 5 * time.Second, retry: 2 * time.Second, attempt: 10 * time.Second}

// Reporter keeps the condition Upgradeable of an OperatorCondition up to date.
type Reporter struct {
	// Key names the OperatorCondition.
	Key client.ObjectKey

	// Client reads from and writes to the API server, without a cache.
	Client client.Client

	// Work is what is under way.
	Work *Tracker

	// Recorder emits an event on the OperatorCondition when the status changes.
	Recorder record.EventRecorder

	// Gauge is told what was last reported.
	Gauge func(upgradeable bool)

	// Clock dates the condition and paces the reports.
	Clock clock.WithTicker

	timing  timing
	ensured atomic.Bool
	writing sync.Mutex
}

// SetUp adds to a manager what every replica does, what only the leader does, and a check that keeps a replica from
// being ready before the condition is there.
func (r *Reporter) SetUp(mgr manager.Manager) error {
	if r.timing == (timing{}) {
		r.timing = usual
	}
	if err := mgr.AddReadyzCheck("operatorcondition", r.Ready); err != nil {
		return fmt.Errorf("add the readiness check of the OperatorCondition: %w", err)
	}
	for _, runnable := range []manager.Runnable{everyReplica(r.ensure), leader(r.report)} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("add the reports to the OperatorCondition: %w", err)
		}
	}
	return nil
}

// everyReplica is a runnable that does not wait for leadership.
type everyReplica func(context.Context) error

// Start implements manager.Runnable.
func (run everyReplica) Start(ctx context.Context) error { return run(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everyReplica) NeedLeaderElection() bool { return false }

// leader is a runnable that waits for leadership.
type leader func(context.Context) error

// Start implements manager.Runnable.
func (run leader) Start(ctx context.Context) error { return run(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (leader) NeedLeaderElection() bool { return true }

// Ready is a readiness check: it fails until the condition has been seen, or written, once.
func (r *Reporter) Ready(*http.Request) error {
	if !r.ensured.Load() {
		return fmt.Errorf("OperatorCondition %s does not say yet whether the operator can be upgraded; the log says why", r.Key)
	}
	return nil
}

// ensure tries until the condition is there. It leaves one alone that is: only the leader knows what is under way.
func (r *Reporter) ensure(ctx context.Context) error {
	failure := failure{says: "Not ready: the OperatorCondition cannot be told whether the operator can be upgraded"}
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

// report writes the condition at the beginning, when what is under way changes, and from time to time in case somebody
// else has changed it.
func (r *Reporter) report(ctx context.Context) error {
	failure := failure{says: "The OperatorCondition cannot be told whether the operator can be upgraded; trying again"}
	said, due := metav1.ConditionUnknown, r.Clock.Now()
	for {
		timer := r.Clock.NewTimer(due.Sub(r.Clock.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.Work.Changed():
			timer.Stop()
			due = sooner(due, r.Clock.Now().Add(r.patience(said)))
			continue
		case <-timer.C():
		}
		status, err := r.write(ctx, false)
		if err != nil {
			failure.log(ctx, r.Key, err)
			due = r.Clock.Now().Add(r.timing.retry)
			continue
		}
		failure.told = ""
		said, due = status, r.Clock.Now().Add(r.timing.reassert)
		r.Gauge(status == metav1.ConditionTrue)
	}
}

// patience is how long news may wait: not at all if they change the status.
func (r *Reporter) patience(said metav1.ConditionStatus) time.Duration {
	if status, _, _ := Assess(r.Work.Facts()); status != said {
		return 0
	}
	return r.timing.reword
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// write makes the OperatorCondition say what Assess says, and returns the status. It writes only what is not there yet.
// With keep, any word on Upgradeable is left alone. Conditions of others stay as they are.
func (r *Reporter) write(ctx context.Context, keep bool) (status metav1.ConditionStatus, err error) {
	r.writing.Lock() // What every replica does and what the leader does begin at the same time in one process.
	defer r.writing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.timing.attempt)
	defer cancel()
	_ = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		status, err = r.attempt(ctx, keep)
		return err
	}) // Its own result is nil for an attempt that took too long.
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
	now.Status, now.Reason, now.Message = Assess(r.Work.Facts())
	changed := found.DeepCopy()
	if !meta.SetStatusCondition(&changed.Spec.Conditions, now) {
		return now.Status, nil
	}
	// A merge patch replaces the whole list, so it must not be one that somebody has changed since we read it.
	patch := client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{})
	//nolint:forbidigo // The OperatorCondition is OLM's: it is not part of any plan, and apply knows nothing of it.
	if err := r.Client.Patch(ctx, changed, patch); err != nil {
		return "", err
	}
	if before == nil || before.Status != now.Status {
		r.announce(ctx, found, now)
	}
	return now.Status, nil
}

// announce tells of a new status. New words for the same one are not worth an event.
func (r *Reporter) announce(ctx context.Context, object *operatorsv2.OperatorCondition, now metav1.Condition) {
	log.FromContext(ctx).Info("Upgradeable is "+string(now.Status),
		"operatorCondition", r.Key.String(), "reason", now.Reason, "message", now.Message)
	r.Recorder.Eventf(object, corev1.EventTypeNormal, now.Reason, "Upgradeable is %s: %s", now.Status, now.Message)
}

// failure logs what keeps failing, each cause once.
type failure struct{ says, told string }

func (f *failure) log(ctx context.Context, key client.ObjectKey, err error) {
	if cause := explain(err); ctx.Err() == nil && cause != f.told {
		f.told = cause
		log.FromContext(ctx).Info(f.says, "operatorCondition", key.String(), "cause", cause)
	}
}

// explain says what an error means for somebody who looks into the log. OLM makes the OperatorCondition first, then the
// permission and last the Deployment, so the first two cases pass by themselves.
func explain(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "it does not exist: OLM makes it for each installed version; if it was deleted, OLM makes it again"
	case apierrors.IsForbidden(err):
		return "OLM has not granted access to it yet: " + err.Error()
	}
	return err.Error()
}
