package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
)

const (
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
	if err != nil || answer == nil {
		return found, change, explain(change.Object, err)
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

// dryRun returns what an object would be after a write. There is no answer if the API server rejects the write, which then finds out why.
func (a *Applier) dryRun(ctx context.Context, wanted *unstructured.Unstructured, found client.Object) (client.Object, error) {
	answer := wanted.DeepCopy()
	err := a.write(ctx, answer, found, client.DryRunAll)
	if apierrors.IsInvalid(err) {
		return nil, nil // Documented: there is no answer.
	}
	if err != nil {
		return nil, err
	}
	return a.typed(answer)
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
