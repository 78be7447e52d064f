package pending

import (
	"fmt"
	"slices"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// Missing is an image that a container of a running pod is to get, and that is not on the node of the pod.
type Missing struct {
	Container string
	Node      string
	Problem   inputs.PullProblem
}

// Pull is what pods wait for because images are missing on their nodes.
type Pull struct {
	// Message says what is missing where.
	Message string
	// Failed is true if the images may never come. They are pending then, and Alone is true if nothing else is. ByUser is true if
	// the user has asked for them.
	Failed, Alone, ByUser bool
}

// afterPull returns the decision without the images that are missing on nodes with pods of the cache. While they are being pulled,
// the whole change waits. If they cannot be pulled, the user's other changes are made and the images are pending.
func (i Input) afterPull(d Decision) Decision {
	wanted := d.Given
	if i.releases(pullIDOf(wanted.Template)) {
		return d
	}
	d.Wanted = wanted.Template
	missing := i.Missing(ImagesOf(d.Wanted))
	if i.automatic() {
		missing = slices.DeleteFunc(missing, func(m Missing) bool { return m.Problem.Refused })
	}
	if len(missing) == 0 {
		return d
	}
	at := slices.IndexFunc(missing, func(m Missing) bool { return m.Problem.Message != "" })
	if at < 0 {
		d.Given, d.Pull = *i.Given, &Pull{Message: "Images are being pulled on node " + missing[0].Node}
		return d
	}
	d.Pull = &Pull{
		Message: fmt.Sprintf("On node %s, %s", missing[at].Node, missing[at].Problem.Message), Failed: true, Alone: d.Pending == nil,
		ByUser: missing[at].Container == pod.MemcachedContainer && i.choseImage(),
	}
	var names []string
	for _, m := range missing {
		if !slices.Contains(names, m.Container) {
			names = append(names, m.Container)
		}
	}
	slices.Sort(names)
	d.Given = i.withImagesOfGiven(wanted, names)
	d.Pending = i.withImagesPending(d, names)
	return d
}

// withImagesPending returns the pending change of a decision with the images that cannot be pulled.
func (i Input) withImagesPending(d Decision, names []string) *v1alpha1.MemcachedPending {
	changes, class := i.compare(d.Given.Template, d.Wanted)
	for _, name := range names {
		field, lost := "agentImage", diff.Live
		if name == pod.MemcachedContainer {
			field, lost = "image", diff.Cold
		}
		at := slices.IndexFunc(changes, func(c diff.Change) bool { return c.Field == field })
		if at < 0 { // The template has the image already, but not all pods.
			changes, at = append(changes, diff.Change{Field: field, Class: lost, To: ImagesOf(d.Wanted)[name]}), len(changes)
			if lost.Worse(class) {
				class = lost
			}
		}
		changes[at].Reason = d.Pull.Message + ". Running pods keep the image that they have."
	}
	images := pendingChange(pullIDOf(d.Wanted), changes, class)
	if d.Pending == nil {
		return images
	}
	both := d.Pending.DeepCopy()
	both.Changes = append(both.Changes, images.Changes...)
	return both
}

// withImagesOfGiven returns what can be given now: the given template with the user's changes, without the images of some containers. If
// that loses items, only the user may want it, and not along with another image: options may need it.
func (i Input) withImagesOfGiven(wanted Given, names []string) Given {
	candidate := i.withUserChanges(wanted.Template)
	if candidate == nil {
		return *i.Given
	}
	next := Given{Spec: wanted.Spec, Template: candidate}
	if slices.Contains(names, pod.MemcachedContainer) && ImagesOf(i.Given.Template)[pod.MemcachedContainer] != ImagesOf(wanted.Template)[pod.MemcachedContainer] {
		next.Spec.Image, next.Spec.Version = i.Given.Spec.Image, i.Given.Spec.Version // The user still asks for the image.
		next.Template = withImageOf(i.Given.Template, candidate)
	}
	next, lossless := i.lossless(next)
	if !lossless && (i.choseImage() || i.classOfUserChanges(wanted.Template) != diff.Cold) {
		return *i.Given
	}
	return next
}

// pullIDOf identifies the approval to give a template although its images are missing on nodes. It implies the approval of the
// template itself.
func pullIDOf(template *Template) string {
	return idOf(owned.Convert[Template](template).WithAnnotations(map[string]string{inputs.PullAnnotation: ""}))
}
