package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
)

const (
	replicasPath      = "spec.replicas"
	templatePath      = "spec.template."
	annotationsPrefix = "metadata.annotations"
)

func recordedIn(plan owned.Plan, reference owned.Reference) *owned.Recorded {
	i := slices.IndexFunc(plan.Recorded, func(r owned.Recorded) bool { return r.Object == reference })
	if i < 0 {
		return nil
	}
	return &plan.Recorded[i]
}

func recordOf(object client.Object) string { return object.GetAnnotations()[owned.RecordAnnotation] }

// nameRecord makes a workload name its record.
func nameRecord(wanted *unstructured.Unstructured, record string) {
	annotations := wanted.GetAnnotations()
	annotations[owned.RecordAnnotation] = record
	wanted.SetAnnotations(annotations)
}

// worthWriting returns the part of a change of a recorded workload that is a reason to write, nil if there is none: what differs only
// in annotations is bookkeeping, unless the record is another one.
func worthWriting(change *Change, recorded owned.Recorded, wanted, found client.Object) *Change {
	fields := slices.DeleteFunc(slices.Clone(change.Fields), func(path string) bool { return strings.HasPrefix(path, annotationsPrefix) })
	if len(fields) == 0 && recordOf(wanted) == recordOf(found) {
		return nil
	}
	if len(fields) > 0 {
		change.Fields = fields
	}
	change.Action = Updated
	if !givesTemplate(recorded, wanted, found) {
		change.Action = Repaired // The operator has not decided anything, so somebody else has changed the workload.
	}
	return change
}

// givesTemplate reports whether a write gives a workload another template than it was given before.
func givesTemplate(recorded owned.Recorded, wanted, found client.Object) bool {
	return recorded.Changed || recordOf(found) != "" && recordOf(found) != recordOf(wanted)
}

// prepareWorkload makes the part of a change that is made through the subresource scale, and asks the API server what else the write
// would change. It returns the object to write over and the change that is left, nil if nothing is left or the write has to wait.
func (a *Applier) prepareWorkload(
	ctx context.Context, recorded owned.Recorded, wanted *unstructured.Unstructured, found client.Object, change *Change, result *Result,
) (client.Object, *Change, error) {
	newTemplate := givesTemplate(recorded, wanted, found)
	if i := slices.Index(change.Fields, replicasPath); i >= 0 {
		scaled, err := a.scale(ctx, recorded, wanted, found, result)
		if err != nil {
			return nil, nil, explain(change.Object, err)
		}
		found = scaled
		if change.Fields = slices.Delete(change.Fields, i, i+1); len(change.Fields) == 0 && recordOf(found) == recordOf(wanted) {
			return found, nil, nil
		}
	}
	if newTemplate {
		return found, change, nil
	}
	answer, err := a.dryRun(ctx, wanted, found)
	switch {
	case apierrors.IsInvalid(err):
		return found, change, nil // The write finds out why: see writeOverRivals.
	case err != nil:
		return nil, nil, explain(change.Object, err)
	}
	if same, err := a.noteRewrite(wanted, found, answer, true); err != nil || same {
		return found, nil, err
	}
	held, err := a.additions(wanted, found, answer, change)
	if err != nil || held == nil || recorded.Automatic || recorded.Release == held.ID {
		nameRecord(wanted, recorded.Record)
		return found, change, err
	}
	result.Held = append(result.Held, *held)
	return found, nil, nil
}

// scale changes the number of pods, and returns the object as it is then. Policies for workloads do not see the subresource.
func (a *Applier) scale(
	ctx context.Context, recorded owned.Recorded, wanted *unstructured.Unstructured, found client.Object, result *Result,
) (client.Object, error) {
	size, _, err := unstructured.NestedInt64(wanted.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: int32(size)}}
	scale.Name, scale.Namespace, scale.UID, scale.ResourceVersion = found.GetName(), found.GetNamespace(), found.GetUID(), found.GetResourceVersion()
	scaled, ok := found.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no API object", found)
	}
	if err := a.writer.SubResource("scale").Update(ctx, scaled, client.WithSubResourceBody(scale), client.FieldOwner(owned.Manager)); err != nil {
		return nil, err
	}
	switch typed := scaled.(type) {
	case *appsv1.Deployment:
		typed.Spec.Replicas = ptr.To(int32(size))
	case *appsv1.StatefulSet:
		typed.Spec.Replicas = ptr.To(int32(size))
	}
	scaled.SetResourceVersion(scale.ResourceVersion)
	scaled.SetGeneration(found.GetGeneration() + 1) // As the API server does for a new size.
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(scaled)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(wanted.GroupVersionKind())
	result.Objects = append(result.Objects, object)
	change := Change{Action: Updated, Object: recorded.Object, Fields: []string{replicasPath}}
	if recorded.SpecApplied {
		change.Action = Repaired
	}
	result.Changes = append(result.Changes, change)
	return scaled, nil
}

// dryRun returns what the object would be after the write.
func (a *Applier) dryRun(ctx context.Context, wanted *unstructured.Unstructured, found client.Object) (client.Object, error) {
	answer := wanted.DeepCopy()
	if err := a.write(ctx, answer, found, client.DryRunAll); err != nil {
		return nil, err
	}
	return a.typed(answer)
}

// typed returns an object in its Go type, if it has one.
func (a *Applier) typed(object *unstructured.Unstructured) (client.Object, error) {
	typed := Empty(a.scheme, object.GroupVersionKind())
	if _, untyped := typed.(*unstructured.Unstructured); untyped {
		return object, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("decode the %s that the API server returned: %w", object.GetKind(), err)
	}
	return typed, nil
}

// isRewritten reports whether a write would leave the object as it is, because an admission policy or webhook changes it whenever
// it is written. The API server is asked again only when the object or the configuration has changed.
func (a *Applier) isRewritten(ctx context.Context, wanted *unstructured.Unstructured, found client.Object) (bool, error) {
	answer, err := a.dryRun(ctx, wanted, found)
	if apierrors.IsInvalid(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return a.noteRewrite(wanted, found, answer, false)
}

// noteRewrite reports whether an object would be the same after a write, and remembers that.
func (a *Applier) noteRewrite(wanted *unstructured.Unstructured, found, answer client.Object, recorded bool) (bool, error) {
	before, errBefore := content(found)
	after, errAfter := content(answer)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return false, fmt.Errorf("compare %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	// Of the annotations, only those count that the configuration sets; the hash of a recorded workload is bookkeeping.
	for _, object := range []*unstructured.Unstructured{before, after} {
		annotations := object.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool {
			_, set := wanted.GetAnnotations()[key]
			return !set || recorded && key == HashAnnotation
		})
		object.SetAnnotations(annotations)
	}
	comparison, _, err := a.compare(after, before)
	if err != nil || !comparison.IsSame() {
		return false, err
	}
	key, err := rewriteOf(wanted, found)
	a.rewritten.Store(found.GetUID(), key)
	return err == nil, err
}

// knowsRewrite reports whether a write is known to leave the object as it is.
func (a *Applier) knowsRewrite(wanted *unstructured.Unstructured, found client.Object) bool {
	known, _ := a.rewritten.Load(found.GetUID())
	if known == nil {
		return false
	}
	key, err := rewriteOf(wanted, found)
	return err == nil && known == key
}

// rewriteOf identifies a configuration together with what it was compared with. The annotations of others do not count: Kubernetes'
// controllers write some.
func rewriteOf(wanted *unstructured.Unstructured, found client.Object) (string, error) {
	compared, err := content(found)
	if err != nil {
		return "", err
	}
	compared.SetAnnotations(map[string]string{owned.RecordAnnotation: recordOf(found), HashAnnotation: found.GetAnnotations()[HashAnnotation]})
	raw, err := json.Marshal([]any{wanted.Object, compared.Object})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// content returns the part of an object that an apply can change.
func content(object client.Object) (*unstructured.Unstructured, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	result := (&unstructured.Unstructured{Object: raw}).DeepCopy()
	unstructured.RemoveNestedField(result.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(result.Object, "metadata", field)
	}
	return result, nil
}

// additions returns the changes of a Deployment's pod template that the API server would make and nobody has asked for, nil if there
// are none. If somebody else has changed the template, Kubernetes has replaced the pods, and the repair replaces them again, whatever
// is added. It must be able to succeed, though.
func (a *Applier) additions(wanted *unstructured.Unstructured, found, answer client.Object, change *Change) (*owned.Held, error) {
	if change.Object.Kind != "Deployment" {
		return nil, nil // Documented: the pods of a StatefulSet stay when its template changes.
	}
	after, err := content(answer)
	if err != nil {
		return nil, err
	}
	changed, right, err := a.compare(after, found)
	if err != nil {
		return nil, err
	}
	overruled, ours, err := a.compare(wanted, answer)
	if err != nil {
		return nil, err
	}
	asked, err := ours.ToFieldSet()
	if err != nil {
		return nil, err
	}
	outside := func(path string) bool { return !strings.HasPrefix(path, templatePath) }
	extra := overruled.Added.Union(overruled.Modified)
	if !slices.ContainsFunc(change.Fields, func(path string) bool { return !outside(path) }) {
		extra = changed.Added.Union(changed.Modified).Union(changed.Removed).Leaves().Difference(asked.Leaves().Difference(extra.Leaves()))
	}
	fields := slices.DeleteFunc(paths(extra), outside)
	if len(fields) == 0 {
		return nil, nil // Documented: there are none.
	}
	raw, err := json.Marshal(right.AsValue().Unstructured())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &owned.Held{Object: change.Object, ID: hex.EncodeToString(sum[:5]), Fields: fields}, nil
}
