// Package slim limits what the operator holds in memory. Of a custom resource, which any tenant may create, it leaves out what nobody reads:
// a resource may have 1.5 MB. It packs the objects that the operator made, which have almost everything in common.
package slim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// maxSpec is the largest spec, in bytes of JSON. The samples have less than 1,000.
const maxSpec = 128 << 10

// tooLarge is the annotation of a resource in memory whose spec was left out. Its value is the size of the spec in bytes. The API server
// refuses such a key, so nobody else can set it.
const tooLarge = "the spec is too large"

// Memcached is the transform of the cache for Memcacheds: it leaves out the metadata that nobody reads, and a spec that is too large.
func Memcached(object any) (any, error) {
	if memcached, ok := object.(*v1alpha1.Memcached); ok {
		return object, trim(memcached, &memcached.Spec, v1alpha1.MemcachedSpec{}, &memcached.Status.Conditions)
	}
	return object, nil
}

// Application is Memcached for Applications. The host and path stay: other Applications must not get them.
func Application(object any) (any, error) {
	if application, ok := object.(*appv1alpha1.Application); ok {
		keep := appv1alpha1.ApplicationSpec{Ingress: application.Spec.Ingress}
		return object, trim(application, &application.Spec, keep, &application.Status.Conditions)
	}
	return object, nil
}

// trim leaves out what nobody reads, and of a spec that is too large all but what to keep. It may get an object that it has trimmed before.
func trim[Spec any](object client.Object, spec *Spec, keep Spec, conditions *[]metav1.Condition) error {
	*conditions = slices.Clone(*conditions) // Decoding has left room for more.
	shareTexts(*conditions)
	object.SetManagedFields(nil)
	object.SetLabels(nil)
	object.SetFinalizers(nil)
	object.SetOwnerReferences(nil)
	size, trimmed := object.GetAnnotations()[tooLarge]
	object.SetAnnotations(nil)
	if !trimmed {
		var raw bytes.Buffer
		encoder := json.NewEncoder(&raw)
		encoder.SetEscapeHTML(false) // It makes markup six times as long.
		if err := encoder.Encode(spec); err != nil || raw.Len() <= maxSpec {
			return err
		}
		size = fmt.Sprint(raw.Len())
	}
	*spec = keep
	object.SetAnnotations(map[string]string{tooLarge: size})
	return nil
}

// Check returns an error, marked as terminal, if the spec of an object was left out because it is too large. large names what can make it so,
// for the message.
func Check(object client.Object, large string) error {
	size, found := object.GetAnnotations()[tooLarge]
	if !found {
		return nil
	}
	return reconcileerror.Terminal(v1alpha1.ReasonSpecTooLarge,
		fmt.Errorf("spec has %s bytes of JSON, and may have %d (%d KiB): shorten %s. Until then the operator changes, scales and repairs nothing; "+
			"what runs stays as it is", size, maxSpec, maxSpec>>10, large))
}
