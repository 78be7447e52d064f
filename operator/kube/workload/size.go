package workload

import (
	"fmt"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// MaxPods is the most pods that one object may ask for. The controller of StatefulSets builds all pods in memory before it
// creates the first one and before a quota can refuse it: a size of 2,147,483,647 makes kube-controller-manager run out of
// memory. The limit is not in the CRDs, because OLM v1 refuses a maximum that is added later.
const MaxPods = 1000

// CheckSize returns a Terminal error if the field of a spec asks for more than MaxPods.
func CheckSize(field string, size int32) error {
	if size <= MaxPods {
		return nil
	}
	return reconcileerror.Terminal(v1alpha1.ReasonTooManyPods,
		fmt.Errorf("%s is %d, and at most %d pods are supported: choose a smaller number. The pods stay as they are", field, size, MaxPods))
}
