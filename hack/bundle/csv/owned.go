package csv

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// How a console shows a field (https://github.com/openshift/console lists the descriptors that it knows).
const (
	showPodCount   = "urn:alm:descriptor:com.tectonic.ui:podCount"
	showText       = "urn:alm:descriptor:text"
	showConditions = "urn:alm:descriptor:io.kubernetes.conditions"
)

// ownedCRDs describes every served version of every definition, in the order they come.
func ownedCRDs(crds []apiextensionsv1.CustomResourceDefinition) ([]v1alpha1.CRDDescription, error) {
	var owned []v1alpha1.CRDDescription
	for _, crd := range crds {
		describe, ok := describers[crd.Spec.Names.Kind]
		if !ok {
			return nil, fmt.Errorf("kind %s has no descriptors: add them to hack/bundle/csv/owned.go", crd.Spec.Names.Kind)
		}
		for _, version := range servedVersions(crd) {
			d := describe()
			d.Name, d.Kind, d.Version = crd.Name, crd.Spec.Names.Kind, version.Name
			owned = append(owned, d)
		}
	}
	return owned, nil
}

var describers = map[string]func() v1alpha1.CRDDescription{
	"Memcached": memcached,
}

func memcached() v1alpha1.CRDDescription {
	return v1alpha1.CRDDescription{
		DisplayName: "Memcached",
		Description: "A cache made of a number of memcached servers, each with its own share of the items.",
		Resources: []v1alpha1.APIResourceReference{
			{Kind: "Deployment", Version: "v1"},
			{Kind: "Pod", Version: "v1"},
		},
		SpecDescriptors: []v1alpha1.SpecDescriptor{{
			Path: "size", DisplayName: "Size", XDescriptors: []string{showPodCount},
			Description: "How many memcached servers to run. 0 stops them all; their items are lost then.",
		}},
		StatusDescriptors: []v1alpha1.StatusDescriptor{
			status("conditions", "Conditions", "Available, Progressing, Degraded, and Ready, which sums them up.", showConditions),
			status("nodes", "Nodes", "Names of the pods that serve the cache, sorted.", showText),
			status("observedGeneration", "Observed generation", "Generation of the resource that the status describes.", showText),
			status("readyReplicas", "Ready servers", "How many servers accept connections.", showPodCount),
			status("replicas", "Servers", "How many servers there are, ready or not.", showPodCount),
			status("selector", "Selector", "Label selector of the cache's pods, as the scale subresource reports it.", showText),
		},
	}
}

func status(path, name, description, show string) v1alpha1.StatusDescriptor {
	return v1alpha1.StatusDescriptor{Path: path, DisplayName: name, Description: description, XDescriptors: []string{show}}
}
