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
	showLink       = "urn:alm:descriptor:org.w3:link"
	showSecret     = "urn:alm:descriptor:io.kubernetes:Secret"
	askText        = "urn:alm:descriptor:com.tectonic.ui:text"
	askNumber      = "urn:alm:descriptor:com.tectonic.ui:number"
	askResources   = "urn:alm:descriptor:com.tectonic.ui:resourceRequirements"
	// askAdvanced moves a field below those that most people need.
	askAdvanced = "urn:alm:descriptor:com.tectonic.ui:advanced"
	// askGroup and askList keep the fields of a structure, or of each of a list's, together. Its name follows.
	askGroup = "urn:alm:descriptor:com.tectonic.ui:fieldGroup:"
	askList  = "urn:alm:descriptor:com.tectonic.ui:arrayFieldGroup:"
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
	"Application": application,
	"Memcached":   memcached,
}

func memcached() v1alpha1.CRDDescription {
	return v1alpha1.CRDDescription{
		DisplayName: "Memcached",
		Description: "A cache made of a number of memcached servers, each with its own share of the items.",
		Resources: []v1alpha1.APIResourceReference{
			{Kind: "Deployment", Version: "v1"},
			{Kind: "Pod", Version: "v1"},
			{Kind: "Secret", Version: "v1"},
			{Kind: "Service", Version: "v1"},
		},
		SpecDescriptors: []v1alpha1.SpecDescriptor{
			spec("size", "Size", "How many memcached servers to run. 0 stops them all; their items are lost then.", showPodCount),
		},
		StatusDescriptors: []v1alpha1.StatusDescriptor{
			status("binding.name", "Binding", "Secret that says where the cache is, for programs to mount (https://servicebinding.io).", showSecret),
			status("conditions", "Conditions", "Available, Progressing, Degraded, and Ready, which sums them up.", showConditions),
			status("nodes", "Nodes", "Names of the pods that serve the cache, sorted.", showText),
			status("observedGeneration", "Observed generation", "Generation of the resource that the status describes.", showText),
			status("readyReplicas", "Ready servers", "How many servers accept connections.", showPodCount),
			status("replicas", "Servers", "How many servers there are, ready or not.", showPodCount),
			status("selector", "Selector", "Label selector of the cache's pods, as the scale subresource reports it.", showText),
		},
	}
}

func application() v1alpha1.CRDDescription {
	return v1alpha1.CRDDescription{
		DisplayName: "Application",
		Description: "A web application that is updated without a failed request, with the caches that it uses.",
		Resources: []v1alpha1.APIResourceReference{
			{Kind: "Deployment", Version: "v1"},
			{Kind: "Ingress", Version: "v1"},
			{Kind: "Pod", Version: "v1"},
			{Kind: "PodDisruptionBudget", Version: "v1"},
			{Kind: "Service", Version: "v1"},
		},
		SpecDescriptors: []v1alpha1.SpecDescriptor{
			spec("image", "Image", "Image of the application.", askText),
			spec("replicas", "Replicas", "How many pods to run. 0 stops them all.", showPodCount),
			spec("port", "Port", "TCP port that the application listens on, and that its Service has.", askNumber),
			spec("caches", "Caches", "Memcacheds of the same namespace. Where they are is handed to the pods in MEMCACHED_SERVERS and below SERVICE_BINDING_ROOT.", askList+"caches"),
			spec("ingress", "Ingress", "How the application is reached from outside of the cluster; without it, it is not.", askGroup+"ingress"),
			spec("ingress.host", "Host", "Host name that it answers to. One host and path belong to the oldest Application that claims them.", askGroup+"ingress", askText),
			spec("ingress.path", "Path", "Beginning of the paths that lead to it.", askGroup+"ingress", askText),
			spec("ingress.className", "Ingress class", "Which ingress controller serves it; the cluster's default without.", askGroup+"ingress", askText),
			spec("ingress.tlsSecret", "TLS Secret", "Secret with the certificate of the host; plain HTTP without.", askGroup+"ingress", showSecret),
			spec("resources", "Resources", "CPU and memory that each pod asks for, and that it is limited to.", askResources),
			spec("env", "Environment", "Environment variables of the application.", askAdvanced),
			spec("podSecurityContext", "Pod security context", "Replaces, field by field, what every pod gets: runAsNonRoot, and the runtime's default seccomp profile.", askAdvanced),
			spec("securityContext", "Container security context", "Replaces, field by field, what every container gets: no privilege escalation, no capability.", askAdvanced),
		},
		StatusDescriptors: []v1alpha1.StatusDescriptor{
			status("conditions", "Conditions", "Available, Progressing, Degraded, and Ready, which sums them up.", showConditions),
			status("observedGeneration", "Observed generation", "Generation of the resource that the status describes.", showText),
			status("readyReplicas", "Ready replicas", "How many pods accept connections.", showPodCount),
			status("replicas", "Replicas", "How many pods there are, ready or not.", showPodCount),
			status("selector", "Selector", "Label selector of the application's pods, as the scale subresource reports it.", showText),
			status("url", "URL", "Where the application is to be found.", showLink),
		},
	}
}

func spec(path, name, description string, ask ...string) v1alpha1.SpecDescriptor {
	return v1alpha1.SpecDescriptor{Path: path, DisplayName: name, Description: description, XDescriptors: ask}
}

func status(path, name, description, show string) v1alpha1.StatusDescriptor {
	return v1alpha1.StatusDescriptor{Path: path, DisplayName: name, Description: description, XDescriptors: []string{show}}
}
