package csv

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Descriptors tell a console how to show a field. https://github.com/openshift/console lists the supported ones.
const (
	showPodCount   = "urn:alm:descriptor:com.tectonic.ui:podCount"
	showText       = "urn:alm:descriptor:text"
	showConditions = "urn:alm:descriptor:io.kubernetes.conditions"
	showLink       = "urn:alm:descriptor:org.w3:link"
	showSecret     = "urn:alm:descriptor:io.kubernetes:Secret"
	askText        = "urn:alm:descriptor:com.tectonic.ui:text"
	askNumber      = "urn:alm:descriptor:com.tectonic.ui:number"
	askSwitch      = "urn:alm:descriptor:com.tectonic.ui:booleanSwitch"
	askResources   = "urn:alm:descriptor:com.tectonic.ui:resourceRequirements"
	// askSelect is the prefix of a descriptor for each value that can be selected.
	askSelect = "urn:alm:descriptor:com.tectonic.ui:select:"
	// askAdvanced moves a field to the section of advanced fields.
	askAdvanced = "urn:alm:descriptor:com.tectonic.ui:advanced"
	// askGroup and askList are prefixes of the name of a structure or a list, whose fields are shown together.
	askGroup = "urn:alm:descriptor:com.tectonic.ui:fieldGroup:"
	askList  = "urn:alm:descriptor:com.tectonic.ui:arrayFieldGroup:"
)

// ownedCRDs describes every served version of the CRDs, in their order.
func ownedCRDs(crds []apiextensionsv1.CustomResourceDefinition) ([]v1alpha1.CRDDescription, error) {
	var owned []v1alpha1.CRDDescription
	for _, crd := range crds {
		describe, ok := describers[crd.Spec.Names.Kind]
		if !ok {
			return nil, fmt.Errorf("kind %s has no descriptors: describe it in hack/internal/csv, as memcached.go does", crd.Spec.Names.Kind)
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
	"Application": application,
	"Memcached":   memcached,
}

// askOneOf offers several values to select from.
func askOneOf(values ...string) []string {
	var all []string
	for _, value := range values {
		all = append(all, askSelect+value)
	}
	return all
}

func spec(path, name, description string, ask ...string) v1alpha1.SpecDescriptor {
	return v1alpha1.SpecDescriptor{Path: path, DisplayName: name, Description: description, XDescriptors: ask}
}

func status(path, name, description, show string) v1alpha1.StatusDescriptor {
	return v1alpha1.StatusDescriptor{Path: path, DisplayName: name, Description: description, XDescriptors: []string{show}}
}
