package pending

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// Decision is the result of Decide.
type Decision struct {
	// Given is what to give the workload.
	Given Given
	// Cause says who wants the template of Given, if it is not the one that the workload has.
	Cause inputs.Cause
	// Pending is the change that waits for approval, nil if there is none.
	Pending *v1alpha1.MemcachedPending
	// Wanted is the template of Given if no image were missing on a node, nil if the user has approved the change without images.
	Wanted *Template
	// Pull is what Given waits for because images are missing on nodes, nil if it does not.
	Pull *Pull
}

// Decide decides what to give a workload. It fails if the spec cannot be rendered: then there is no decision, and the caller keeps
// what the workload has.
func Decide(i Input) (Decision, error) {
	decision, err := i.decide()
	if err != nil || i.Given == nil || i.Missing == nil {
		return decision, err
	}
	return i.afterPull(decision), nil
}

// decide decides as if all images were on all nodes.
func (i Input) decide() (Decision, error) {
	wanted, err := i.Render(i.Spec)
	if err != nil {
		return Decision{}, err
	}
	all := Decision{Given: Given{Template: wanted, Spec: i.Spec}, Cause: inputs.ByUser}
	if i.Given == nil {
		return all, nil
	}
	if same(i.Given.Spec, i.Spec) && !i.released(wanted) {
		all.Cause = inputs.ByOperator
	}
	var lossless bool
	if all.Given, lossless = i.lossless(all.Given); lossless || i.classOfUserChanges(wanted) == diff.Cold || i.automatic() || i.released(wanted) {
		return all, nil
	}
	kept := i.withoutLoss(wanted)
	changes, class := i.compare(kept.Template, wanted)
	return Decision{Given: kept, Cause: all.Cause, Pending: pendingChange(idOf(wanted), changes, class)}, nil
}

// lossless reports whether the pods keep their items with another template. Templates for the same pods may differ in their bytes, and a
// Deployment replaces its pods for that, so the given template stays.
func (i Input) lossless(next Given) (Given, bool) {
	_, class := i.compare(i.Given.Template, next.Template)
	if class == diff.None {
		next.Template = i.Given.Template
	}
	return next, class != diff.Cold
}

// classOfUserChanges returns what the changes that the user made since the given template do to the items.
func (i Input) classOfUserChanges(wanted *Template) diff.Class {
	if same(i.Given.Spec, i.Spec) {
		return diff.None
	}
	before, err := i.Render(i.Given.Spec)
	if err != nil {
		changes, _ := i.compare(i.Given.Template, i.withoutImagesOfRelease(wanted))
		return diff.Worst(slices.DeleteFunc(changes, func(c diff.Change) bool { return c.ByRelease }))
	}
	if i.choseImage() {
		before = withImageOf(i.Given.Template, before) // The user may ask for the very change that is pending.
	}
	_, class := i.compare(before, wanted)
	return class
}

func (i Input) automatic() bool {
	return i.Spec.Updates != nil && i.Spec.Updates.Policy == v1alpha1.UpdateAutomatic
}

// released reports whether the user approved this very change.
func (i Input) released(wanted *Template) bool {
	return i.releases(idOf(wanted)) || i.releases(pullIDOf(wanted))
}

func (i Input) releases(id string) bool {
	return i.Spec.Updates != nil && i.Spec.Updates.Release == id
}

// withoutLoss returns the template that has most of the wanted one without losing items: all but the image, which most often loses them,
// or else the user's changes.
func (i Input) withoutLoss(wanted *Template) Given {
	sameImage := withImageOf(i.Given.Template, wanted)
	if next, lossless := i.lossless(Given{Template: sameImage, Spec: i.Spec}); lossless && !i.choseImage() {
		return next
	}
	merged := i.withUserChanges(wanted)
	if merged == nil {
		merged = i.withoutImagesOfRelease(wanted)
	}
	if next, lossless := i.lossless(Given{Template: merged, Spec: i.Spec}); lossless {
		return next
	}
	return *i.Given
}

// idOf identifies a wanted template: the ID stays the same as long as the template does.
func idOf(wanted *Template) string {
	sum := sha256.Sum256(encode(wanted))
	return hex.EncodeToString(sum[:5])
}

func pendingChange(id string, changes []diff.Change, class diff.Class) *v1alpha1.MemcachedPending {
	if !class.Worse(diff.NextReplacement) {
		return nil
	}
	pending := &v1alpha1.MemcachedPending{ID: id, Class: v1alpha1.ChangeClass(class)}
	for _, c := range changes {
		if c.Class == diff.NextReplacement {
			continue // It loses nothing and needs no approval, so it is made with the next change of the template.
		}
		pending.Changes = append(pending.Changes, v1alpha1.MemcachedChange{
			Field: c.Field, Class: v1alpha1.ChangeClass(c.Class), Reason: c.Reason, From: c.From, To: c.To,
		})
	}
	return pending
}

// WithHeld returns the pending change of a cache: the one that the operator decided on, or else the writes that wait because an
// admission policy would change the pod template along with them. Approving the former makes the latter along with it.
func WithHeld(pending *v1alpha1.MemcachedPending, held []owned.Held) *v1alpha1.MemcachedPending {
	if pending != nil || len(held) == 0 {
		return pending
	}
	pending = &v1alpha1.MemcachedPending{ID: held[0].ID, Class: v1alpha1.ChangeClass(diff.Cold)}
	for _, field := range held[0].Fields {
		pending.Changes = append(pending.Changes, v1alpha1.MemcachedChange{
			Field: strings.TrimPrefix(field, "spec."), Class: v1alpha1.ChangeClass(diff.Cold),
			Reason: "An admission policy of the cluster would change this along with any change of the Deployment, and Kubernetes would replace the pods.",
		})
	}
	return pending
}
