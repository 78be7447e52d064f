package pod

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Request is what a pod template is computed from.
type Request struct {
	// Spec is what the user wants.
	Spec v1alpha1.MemcachedSpec

	// Identity gives the labels.
	Identity owned.Identity

	// Host is the DNS name of all pods, for which the TLS certificate is issued.
	Host string

	// Images are the images that pods can run.
	Images inputs.Images

	// Given is the template that the pods have; nil for new ones.
	Given *corev1ac.PodTemplateSpecApplyConfiguration
}

// settings are a request with everything that the spec leaves open filled in.
type settings struct {
	Request
	image     string
	version   string // Of memcached in the image, empty if the spec does not say it.
	size      sizing.Result
	resources resources
}

// resolve fills in what the spec leaves open. The error is Terminal: the spec asks for something impossible.
func resolve(r Request) (settings, error) {
	s := settings{Request: r, resources: resourcesOf(r.Spec.Resources, r.Spec.TLS != nil)}
	var err error
	if s.image, s.version, err = imageOf(r.Spec, r.Images); err != nil {
		return s, err
	}
	if s.size, err = sizing.Compute(sizingRequest(r)); err != nil {
		return s, reconcileerror.Terminal(v1alpha1.ReasonInvalidSizing, err)
	}
	if err := checkExtra(r.Spec); err != nil {
		return s, reconcileerror.Terminal(v1alpha1.ReasonInvalidArguments, err)
	}
	if inputs.NeedsAgent(r.Spec) && r.Images.Agent == "" {
		return s, reconcileerror.Terminal(v1alpha1.ReasonAgentUnavailable, errors.New(
			"the cache needs the agent, and the operator was not told its image: set AGENT_IMAGE where the operator runs"))
	}
	return s, nil
}

// imageOf returns the image that a spec asks for, and the version of memcached in it.
func imageOf(spec v1alpha1.MemcachedSpec, images inputs.Images) (image, version string, err error) {
	if spec.Image != "" {
		return spec.Image, spec.Version, nil
	}
	version = cmp.Or(spec.Version, images.Default)
	if image, known := images.Memcached[version]; known {
		return image, version, nil
	}
	return "", "", reconcileerror.Terminal(v1alpha1.ReasonUnknownVersion, fmt.Errorf(
		"spec.version: %s is not known to this version of the operator: choose one of %s, or name an image",
		version, strings.Join(versions(images), ", ")))
}

// versions returns those that the operator knows, the newest last.
func versions(images inputs.Images) []string {
	return slices.SortedFunc(maps.Keys(images.Memcached), func(a, b string) int {
		first, _ := semver.Parse(a) // All are versions: the operator would not have started with others.
		second, _ := semver.Parse(b)
		return first.Compare(second)
	})
}
