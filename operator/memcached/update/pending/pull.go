package pending

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// Missing is a node with pods of the cache on which an image is missing.
type Missing struct {
	Node    string
	Problem inputs.PullProblem
}

// Pull is what a template waits for because images are missing on nodes.
type Pull struct {
	// Message says what is missing where.
	Message string

	// Failed is true if the images may never come. They are pending then, and Alone is true if nothing else is. ByUser is true if
	// the user has asked for them.
	Failed, Alone, ByUser bool
}

// afterPull returns the decision without the images that are missing on nodes with pods of the cache. While they are being pulled,
// the whole change waits. If they cannot be pulled, the rest of the change is made and the images are pending: the cache goes on,
// and so do other changes.
func (i Input) afterPull(d Decision) Decision {
	images := newImages(i.Given.Template, d.Given.Template)
	if len(images) == 0 || i.releases(pullIDOf(d.Given.Template)) {
		return d
	}
	d.Wanted, d.Images = d.Given.Template, images
	missing := i.Missing(d.Images)
	if i.automatic() {
		missing = slices.DeleteFunc(missing, func(m Missing) bool { return m.Problem.Message != "" && !m.Problem.OfImage })
	}
	if len(missing) == 0 {
		return d
	}
	failed := slices.IndexFunc(missing, func(m Missing) bool { return m.Problem.Message != "" })
	if failed < 0 {
		d.Given, d.Pull = *i.Given, &Pull{Message: "Images are being pulled on node " + missing[0].Node}
		return d
	}
	d.Pull = &Pull{
		Message: fmt.Sprintf("On node %s, %s", missing[failed].Node, missing[failed].Problem.Message),
		Failed:  true, Alone: d.Pending == nil, ByUser: d.Cause == inputs.ByUser,
	}
	d.Given = i.withImagesOfGiven(d.Given)
	d.Pending = i.withImagesPending(d)
	return d
}

// withImagesPending returns the pending change of a decision with the images that cannot be pulled.
func (i Input) withImagesPending(d Decision) *v1alpha1.MemcachedPending {
	changes, class := i.compare(d.Given.Template, d.Wanted)
	for at := range changes {
		if changes[at].Field == "image" || changes[at].Field == "agentImage" {
			changes[at].Reason = d.Pull.Message + ". Running pods keep the image that they have."
		}
	}
	images := pendingChange(pullIDOf(d.Wanted), changes, class)
	if d.Pending == nil || images == nil {
		return cmp.Or(d.Pending, images)
	}
	both := d.Pending.DeepCopy()
	both.Changes = append(both.Changes, images.Changes...)
	return both
}

// withImagesOfGiven returns what can be given now: the wanted template with the images of the given one. If that loses items, only the
// user may want it, and not along with another image: options may need it.
func (i Input) withImagesOfGiven(wanted Given) Given {
	candidate := withImageOf(i.Given.Template, wanted.Template)
	before := containers(i.Given.Template)
	for name, container := range containers(candidate) {
		if given := before[name]; given != nil {
			container.Image = given.Image
		}
	}
	spec := wanted.Spec
	spec.Image, spec.Version = i.Given.Spec.Image, i.Given.Spec.Version // The user still asks for the image.
	switch _, class := i.compare(i.Given.Template, candidate); class {
	case diff.None:
		return Given{Template: i.Given.Template, Spec: spec}
	case diff.Cold:
		if i.choseImage() || i.classOfUserChanges(wanted.Template) != diff.Cold {
			return *i.Given
		}
	}
	return Given{Template: candidate, Spec: spec}
}

// newImages returns the images of a template that the given one does not have in the same container, by the names of the containers.
func newImages(given, wanted *Template) map[string]string {
	images, before := map[string]string{}, containers(given)
	for name, container := range containers(wanted) {
		image := ptr.Deref(container.Image, "")
		if before[name] == nil || ptr.Deref(before[name].Image, "") != image {
			images[name] = image
		}
	}
	return images
}

// containers returns the containers of a template by name.
func containers(template *Template) map[string]*Container {
	found := map[string]*Container{}
	if template.Spec != nil {
		for i := range template.Spec.Containers {
			found[ptr.Deref(template.Spec.Containers[i].Name, "")] = &template.Spec.Containers[i]
		}
	}
	return found
}

// pullIDOf identifies the approval to give a template although its images are missing on nodes. It implies the approval of the
// template itself.
func pullIDOf(template *Template) string {
	marked := owned.Convert[Template](template).WithAnnotations(map[string]string{inputs.PullAnnotation: ""})
	return idOf(marked)
}
