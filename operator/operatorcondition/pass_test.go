package operatorcondition

import (
	"errors"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/rollout"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/example/memcached-operator/operator/apply"
	"github.com/example/memcached-operator/operator/outcome"
	"github.com/example/memcached-operator/operator/scope"
)

// account returns that of two pods, so many of which are of the newest template.
func account(updated int32) *rollout.Account {
	return &rollout.Account{Wanted: 2, Seen: true, Replicas: 2, Ready: 2, Updated: updated}
}

func paused(account *rollout.Account) *rollout.Account {
	account.Paused = true
	return account
}

func change(action apply.Action, kind string, fields ...string) []apply.Change {
	reference := scope.Reference{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind(kind), Namespace: "default", Name: "cache"}
	return []apply.Change{{Action: action, Object: reference, Fields: fields}}
}

const imagePath = `spec.template.spec.containers[name="memcached"].image`

func TestWhatAPassSaysAboutTheWork(t *testing.T) {
	const begins, ends, goesOn = "begins", "ends", "goes on"
	updated := change(apply.Updated, "Deployment", imagePath)
	for name, test := range map[string]struct {
		pass Pass
		want string
	}{
		"the operator wants another template": {
			Pass{CarriedOver: true, Changes: updated, Rollout: account(0)}, begins,
		},
		"the operator has given up a field, which is not named": {
			Pass{CarriedOver: true, Changes: change(apply.Updated, "Deployment", "metadata.annotations.hash"), Rollout: account(0)}, begins,
		},
		"the operator puts a template back": {
			Pass{CarriedOver: true, Changes: change(apply.Repaired, "Deployment", imagePath), Rollout: account(0)}, begins,
		},
		"the operator puts the number of pods back": {
			Pass{CarriedOver: true, Changes: change(apply.Repaired, "Deployment", "spec.replicas"), Rollout: account(0)}, goesOn,
		},
		"the user wants something else": {
			Pass{Changes: updated, Rollout: account(0)}, goesOn,
		},
		"a Deployment is made": {
			Pass{CarriedOver: true, Changes: change(apply.Created, "Deployment"), Rollout: account(0)}, goesOn,
		},
		"another kind of object is changed": {
			Pass{CarriedOver: true, Changes: change(apply.Updated, "Service", "spec.ports"), Rollout: account(0)}, goesOn,
		},
		"nothing is changed in mid-rollout": {
			Pass{CarriedOver: true, Rollout: account(1)}, goesOn,
		},
		"the rollout has ended": {
			Pass{CarriedOver: true, Rollout: account(2)}, ends,
		},
		"there is no Deployment": {
			Pass{CarriedOver: true}, ends,
		},
		"somebody has paused the Deployment": {
			Pass{CarriedOver: true, Rollout: paused(account(1))}, ends,
		},
		"pods fail in mid-rollout": {
			Pass{CarriedOver: true, Rollout: account(1), Degraded: true}, ends,
		},
		"pods fail when the template changes": {
			Pass{CarriedOver: true, Changes: updated, Rollout: account(0), Degraded: true}, ends,
		},
		"the user has to act": {
			Pass{CarriedOver: true, Rollout: account(1), Degraded: true, Err: outcome.Terminal("NameConflict", errors.New("taken"))}, ends,
		},
		"an object is refused": {
			Pass{CarriedOver: true, Rollout: account(1), Degraded: true, Err: outcome.Waiting("Rejected", time.Minute, errors.New("no"))}, ends,
		},
		"the template is changed and then the API server fails": {
			Pass{CarriedOver: true, Changes: updated, Rollout: account(0), Degraded: true, Err: errors.New("reset")}, begins,
		},
		"the API server fails in mid-rollout": {
			Pass{CarriedOver: true, Degraded: true, Err: errors.New("reset")}, goesOn,
		},
		"old copies are seen": {
			Pass{CarriedOver: true, Rollout: account(2), Err: outcome.Stale(errors.New("old"))}, goesOn,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.pass.Object = Object{Kind: "Memcached", Namespace: "default", Name: "cache"}
			idle, busy := NewTracker(), NewTracker()
			busy.Begin(Work{Object: test.pass.Object, Reason: ReasonRolloutInProgress})
			idle.Passed(test.pass)
			busy.Passed(test.pass)
			switch got := [2]int{len(idle.Facts().Work), len(busy.Facts().Work)}; {
			case got == [2]int{1, 1} && test.want == begins:
			case got == [2]int{0, 0} && test.want == ends:
			case got == [2]int{0, 1} && test.want == goesOn:
			default:
				t.Errorf("work under way when there was none and when there was: %v; want that it %s", got, test.want)
			}
		})
	}
}
