//go:build faults

package faults_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/operator/faults/inject"
)

// plan is a fault in a workload.
type plan struct {
	class    string // F1 to F11.
	name     string // Of the fault.
	workload *workload
	where    string // The request.

	// arm prepares the fault. reached tells how often it has happened.
	arm func(s *scene) (reached func() int)

	// later is the fault itself if it happens when the operator has nothing to do any more, nil otherwise.
	later func(s *scene) error

	// mayRecreate are the keys of objects that the fault itself creates or deletes.
	mayRecreate func(key string) bool

	// mayDiffer are the fields that the fault itself changes for good.
	mayDiffer func(field string) bool

	// sparesPods is true if the fault is no reason to change more pods than without it.
	sparesPods bool

	// restarts is true if a part of the control plane restarts, which disturbs all plans that run at the same time. An API server that
	// starts forbids everything until it has read the rights.
	restarts bool
}

// id names the plan so that it can be run alone.
func (p *plan) id() string {
	return strings.Join([]string{p.class, p.name, p.workload.name, strings.NewReplacer(" ", "_", "/", ".").Replace(p.where)}, "/")
}

// fault is what can happen to a call.
type fault struct {
	class, name string
	applies     func(inject.Call) bool
	not         func(*workload) bool // Workloads to which it does not apply.
	overrides   bool                 // Whether it decides on more requests than one, which then meet no other fault.
	onEvents    bool                 // Whether it needs events of the kind that the call watches.
	arm         func(s *scene, call inject.Call) (reached func() int)
	afterwards  func(s *scene, object *unstructured.Unstructured) error // The same when the operator has nothing to do, nil if there is no such fault.
	mayRecreate func(w *workload, call inject.Call) func(key string) bool
	mayDiffer   func(w *workload, call inject.Call) func(field string) bool
}

// plansOf returns all plans of a workload.
func plansOf(w *workload, b *baseline) []*plan {
	var all []*plan
	for _, f := range allFaults() {
		if f.not != nil && f.not(w) {
			continue
		}
		for _, call := range b.Calls {
			if !f.applies(call) || f.class == "F8" && b.foreign(call.Object) || f.onEvents && !b.creates(call.Resource()) {
				continue
			}
			p := &plan{class: f.class, name: f.name, workload: w, where: call.String()}
			p.arm = func(s *scene) func() int { return f.arm(s, call) }
			if f.mayRecreate != nil {
				p.mayRecreate = f.mayRecreate(w, call)
			}
			if f.mayDiffer != nil {
				p.mayDiffer = f.mayDiffer(w, call)
			}
			all = append(all, p)
		}
	}
	return slices.Concat(all, pairs(w, b), clocks(w), restarts(w, b), laterPlans(w, b))
}

func every(inject.Call) bool      { return true }
func notWatch(c inject.Call) bool { return !c.Streams() }
func writes(c inject.Call) bool   { return c.Writes() }
func watches(c inject.Call) bool  { return c.Streams() }

// firstWatch selects one watch of each kind.
func firstWatch(c inject.Call) bool { return c.Streams() && c.Number == 1 }

// on makes the arm of a fault that is one action.
func on(action func(s *scene) inject.Action) func(*scene, inject.Call) func() int {
	return func(s *scene, call inject.Call) func() int { return s.injector.On(inject.Is(call), action(s)) }
}

// always makes an action that does not depend on the scene.
func always(action inject.Action) func(*scene) inject.Action {
	return func(*scene) inject.Action { return action }
}

// refusals are answers of the API server, by name.
func refusals() map[string]*apierrors.StatusError {
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	terminating := apierrors.NewForbidden(resource, "cache", errors.New("unable to create new content in namespace test because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "namespace test is being terminated", Field: "metadata.namespace"}}
	return map[string]*apierrors.StatusError{
		"conflict":    apierrors.NewConflict(resource, "cache", errors.New("the object has been modified")),
		"busy":        apierrors.NewTooManyRequests("too many requests", 1),
		"error":       apierrors.NewInternalError(errors.New("etcdserver: leader changed")),
		"unavailable": apierrors.NewServiceUnavailable("the server is shutting down"),
		"timeout":     apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0),
		"forbidden":   apierrors.NewForbidden(resource, "cache", errors.New("RBAC: not yet synced")),
		"gone":        apierrors.NewNotFound(resource, "cache"),
		"exists":      apierrors.NewAlreadyExists(resource, "cache"),
		"terminating": terminating,
		"quota":       apierrors.NewForbidden(resource, "cache", errors.New("exceeded quota: objects, requested: count/pods=1, used: count/pods=5, limited: count/pods=5")),
	}
}

// allFaults returns all faults.
func allFaults() []fault {
	var all []fault
	// F1: a request fails before it does anything.
	for name, refusal := range refusals() { // In any order.
		applies := every
		switch name {
		case "exists", "terminating", "quota", "conflict":
			applies = writes
		}
		all = append(all, fault{class: "F1", name: name, applies: applies, arm: on(always(inject.Refuse(refusal)))})
	}
	all = append(all,
		fault{class: "F1", name: "reset", applies: every, arm: on(always(inject.Reset))},
		// F2: a request is done, and its answer lost.
		fault{class: "F2", name: "lost", applies: notWatch, arm: on(always(inject.LoseAnswer))},
		fault{class: "F2", name: "timeout", applies: writes, arm: on(always(inject.ReplaceAnswer(refusals()["timeout"])))},
		fault{class: "F2", name: "error", applies: writes, arm: on(always(inject.ReplaceAnswer(refusals()["error"])))},
		// F3: the process ends.
		fault{class: "F3", name: "before", applies: every, arm: on(func(s *scene) inject.Action { return inject.Before(s.crash) })},
		fault{class: "F3", name: "after", applies: notWatch, arm: on(func(s *scene) inject.Action { return inject.After(s.crash) })},
		// F4: caches are stale.
		fault{class: "F4", name: "frozen", applies: writes, arm: freeze, overrides: true},
		fault{class: "F4", name: "time-travel", applies: writes, arm: travel, overrides: true, mayRecreate: ofPulls, mayDiffer: ofThePast},
		// F5: states are never observed.
		fault{class: "F5", name: "unobserved", applies: firstWatch, arm: held((*inject.Gate).Expire), overrides: true, onEvents: true},
		fault{class: "F5", name: "overwritten", applies: writes, arm: overwritten, overrides: true},
		// F6: watches fail.
		fault{class: "F6", name: "closed", applies: notWatch, arm: closeWatches, overrides: true},
		fault{class: "F6", name: "repeated", applies: writes, arm: repeatEvents, overrides: true},
		fault{class: "F6", name: "expired", applies: watches, arm: on(always(inject.Refuse(apierrors.NewResourceExpired("too old resource version"))))},
		fault{class: "F6", name: "delayed", applies: firstWatch, arm: held((*inject.Gate).Open), overrides: true, onEvents: true},
		// F7: another process leads.
		fault{class: "F7", name: "late-write", applies: writes, arm: lateWrite((*inject.Process).Resume), mayRecreate: lateObjects},
		fault{class: "F7", name: "last-write", applies: writes, arm: lateWrite((*inject.Process).ResumeForOneWrite), mayRecreate: lateObjects},
	)
	return append(all, actors()...)
}

// frozenTime is how long caches are stale.
const frozenTime = 2 * time.Second

// freeze holds back all events from a call on, for some time.
func freeze(s *scene, call inject.Call) func() int {
	gate := inject.NewGate()
	s.injector.On(inject.Call.Streams, gate.Stream)
	return s.injector.On(inject.Is(call), inject.Before(func() {
		gate.Close()
		s.later(frozenTime, gate.Open)
	}))
}

func ofThePast(*workload, inject.Call) func(string) bool { return ofRecords }

// travel starts a new process that sees the past for some time, as if it were connected to an API server that lags behind.
func travel(s *scene, call inject.Call) func() int {
	gate := inject.NewGate()
	past := &inject.Past{}
	listed := s.injector.On(func(c inject.Call) bool { return c.Verb == "list" && c.Resource() == "memcacheds" }, past.List)
	s.injector.On(func(c inject.Call) bool { return c.Verb == "list" }, past.List)
	s.injector.On(inject.Call.Streams, past.Watch(gate.Stream))
	s.injector.On(inject.Is(call), inject.Before(func() {
		gate.Close()
		past.Show(s.past())
		s.later(frozenTime, func() {
			past.Show("")
			gate.Open()
		})
		s.crash()
	}))
	return listed
}

// held holds back the events of one kind while users take their last step, for some time. Then the gate opens, or it expires, so that what was in
// between is never seen.
func held(end func(*inject.Gate)) func(*scene, inject.Call) func() int {
	return func(s *scene, call inject.Call) func() int {
		gate := inject.NewGate()
		s.injector.On(func(c inject.Call) bool { return c.Streams() && c.Object == call.Object }, gate.Stream)
		s.beforeLast = append(s.beforeLast, func() {
			over := s.happening()
			gate.Close()
			s.later(frozenTime, func() {
				end(gate)
				over() // A client lists again some time later.
			})
		})
		return gate.Held
	}
}

// overwritten holds back the events of the kind that is written, and lets the watch expire then, so that only what became of it is seen.
func overwritten(s *scene, call inject.Call) func() int {
	gate := inject.NewGate()
	s.injector.On(func(c inject.Call) bool { return c.Streams() && c.Resource() == call.Resource() }, gate.Stream)
	met := s.injector.On(inject.Is(call), inject.Before(func() {
		gate.Close()
		s.later(frozenTime, gate.Expire)
	}))
	return func() int { return min(met(), gate.Held()) }
}

// repeatEvents ends all watches, and begins the next ones earlier, so that events come once more.
func repeatEvents(s *scene, call inject.Call) func() int {
	gate, past := inject.NewGate(), &inject.Past{}
	s.injector.On(inject.Call.Streams, func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
		return gate.Stream(request, promhttp.RoundTripperFunc(func(request *http.Request) (*http.Response, error) { return past.Again(request, send) }))
	})
	return s.injector.On(inject.Is(call), inject.Before(func() {
		past.Show(s.past())
		gate.Break()
		s.later(frozenTime, func() { past.Show("") })
	}))
}

// closeWatches ends all watches.
func closeWatches(s *scene, call inject.Call) func() int {
	gate := inject.NewGate()
	s.injector.On(inject.Call.Streams, gate.Stream)
	return s.injector.On(inject.Is(call), inject.Before(gate.Break))
}

// lateTime is how long a process goes on at most that does not lead any more.
const lateTime = 200 * time.Millisecond

// lateWrite pauses the process, lets another one do all that users ask for, and lets the paused one go on.
func lateWrite(resume func(*inject.Process)) func(*scene, inject.Call) func() int {
	return func(s *scene, call inject.Call) func() int {
		return s.injector.On(inject.Is(call), func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
			old := s.newest()
			if old == nil {
				return send.RoundTrip(request)
			}
			defer s.happening()()
			old.Pause()
			s.start()
			_ = s.overtaken() // If users do not get what they want, the plan says so.
			resume(old.Process)
			response, err := send.RoundTrip(request)
			s.later(lateTime, old.kill)
			return response, err
		})
	}
}

// overtaken waits until users have what they want, and the newest process has nothing to do any more. A silence alone may be that of a busy
// machine on which the process has not started yet: then the write of the paused one would not be outdated.
func (s *scene) overtaken() error {
	quiet := s.quiet(window)
	return s.await(func(s *scene) error {
		if err := errors.Join(s.hasStarted(), s.isSatisfied(), current(s)); err != nil {
			return err
		}
		return quiet(s)
	})
}
