package testenv

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/olmcondition"
)

type object[T any] interface {
	*T
	client.Object
}

// Named returns an empty object of a name.
func Named[T any, P object[T]](e *Env, name string) P {
	named := P(new(T))
	named.SetNamespace(e.Namespace)
	named.SetName(name)
	return named
}

// Get reads an object.
func Get[T any, P object[T]](ctx context.Context, e *Env, name string) (P, error) {
	found := P(new(T))
	return found, cluster.Client.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, found)
}

// MustGet reads an object that has to be there.
func MustGet[T any, P object[T]](e *Env, name string) P {
	e.Helper()
	found, err := Get[T, P](e.Context(), e, name)
	if err != nil {
		e.Fatalf("read %T %s: %v", found, name, err)
	}
	return found
}

type owner[T any] interface {
	object[T]
	GetConditions() []metav1.Condition
}

// AwaitReady waits until an object is Ready for its newest spec and check returns nil, and returns the object.
func AwaitReady[T any, P owner[T]](e *Env, name string, check func(context.Context, P) error) (found P) {
	e.Helper()
	e.Await(name+" is Ready", func(ctx context.Context) (err error) {
		if found, err = Get[T, P](ctx, e, name); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(found.GetConditions(), v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != found.GetGeneration() {
			return fmt.Errorf("conditions are %+v", found.GetConditions())
		}
		return check(ctx, found)
	})
	return found
}

// AwaitNotReady waits until an object is not Ready for a reason, and returns the object and the message.
func AwaitNotReady[T any, P owner[T]](e *Env, name, reason string) (found P, message string) {
	e.Helper()
	e.Await(name+" is not Ready because of "+reason, func(ctx context.Context) (err error) {
		if found, err = Get[T, P](ctx, e, name); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(found.GetConditions(), v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != reason {
			return fmt.Errorf("conditions are %+v", found.GetConditions())
		}
		message = ready.Message
		return nil
	})
	return found, message
}

// AwaitWork waits until an upgrade of the operator should wait for the rollout of an object, or for nothing.
func (e *Env) AwaitWork(kind, name string, underWay bool) {
	e.Helper()
	var want []olmcondition.Object
	if underWay {
		want = []olmcondition.Object{{Kind: kind, NamespacedName: types.NamespacedName{Namespace: e.Namespace, Name: name}}}
	}
	e.Await(fmt.Sprintf("there is work: %t", underWay), func(context.Context) error {
		if difference := cmp.Diff(want, e.Options.Work.Findings().Rollouts, cmpopts.EquateEmpty()); difference != "" {
			return fmt.Errorf("work (-want +got):\n%s", difference)
		}
		return nil
	})
}

// AwaitEvent waits for an event whose message mentions all that is given.
func (e *Env) AwaitEvent(reason string, mentions ...string) {
	e.Helper()
	e.Await("an event "+reason, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := cluster.Client.List(ctx, events, client.InNamespace(e.Namespace)); err != nil {
			return err
		}
		var seen []string
		for _, event := range events.Items {
			missing := slices.ContainsFunc(mentions, func(part string) bool { return !strings.Contains(event.Message, part) })
			if event.Reason == reason && !missing {
				return nil
			}
			seen = append(seen, event.Reason+": "+event.Message)
		}
		return fmt.Errorf("events are %q", seen)
	})
}

// Pods returns the UIDs of the pods that have the given labels, by name, without those that only pull images or are being deleted.
func (e *Env) Pods(ctx context.Context, labels map[string]string) (map[string]types.UID, error) {
	pods, uids := &corev1.PodList{}, map[string]types.UID{}
	err := cluster.Client.List(ctx, pods, client.InNamespace(e.Namespace), client.MatchingLabels(labels))
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp == nil && pod.Labels[owned.LabelComponent] != "pull" {
			uids[pod.Name] = pod.UID
		}
	}
	return uids, err
}

// MustPods returns the UIDs of the same pods without a condition on labels.
func (e *Env) MustPods() map[string]types.UID {
	e.Helper()
	uids, err := e.Pods(e.Context(), nil)
	if err != nil {
		e.Fatal(err)
	}
	return uids
}
