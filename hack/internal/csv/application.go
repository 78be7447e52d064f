package csv

import "github.com/operator-framework/api/pkg/operators/v1alpha1"

func application() v1alpha1.CRDDescription {
	return v1alpha1.CRDDescription{
		DisplayName: "Application",
		Description: "A web application that uses caches, and is updated without failing a request.",
		Resources: []v1alpha1.APIResourceReference{
			{Kind: "Deployment", Version: "v1"},
			{Kind: "Ingress", Version: "v1"},
			{Kind: "Pod", Version: "v1"},
			{Kind: "PodDisruptionBudget", Version: "v1"},
			{Kind: "Service", Version: "v1"},
		},
		SpecDescriptors: []v1alpha1.SpecDescriptor{
			spec("image", "Image", "Image of the application.", askText),
			spec("replicas", "Replicas", "Number of pods. 0 stops them all.", showPodCount),
			spec("port", "Port", "TCP port of the application and of its Service.", askNumber),
			spec("caches", "Caches", "Memcacheds of the same namespace. The pods find their addresses in MEMCACHED_SERVERS and below SERVICE_BINDING_ROOT.", askList+"caches"),
			spec("ingress", "Ingress", "Makes the application reachable from outside the cluster.", askGroup+"ingress"),
			spec("ingress.host", "Host", "Host name of the application. If several Applications claim the same host and path, the oldest one gets them.", askGroup+"ingress", askText),
			spec("ingress.path", "Path", "Prefix of the paths that lead to the application.", askGroup+"ingress", askText),
			spec("ingress.className", "Ingress class", "Class of the Ingress. Default: the cluster's default class.", askGroup+"ingress", askText),
			spec("ingress.tlsSecret", "TLS Secret", "Secret with the certificate of the host. Default: plain HTTP.", askGroup+"ingress", showSecret),
			spec("resources", "Resources", "CPU and memory requests and limits of each pod.", askResources),
			spec("env", "Environment", "Environment variables of the application.", askAdvanced),
			spec("podSecurityContext", "Pod security context", "Overrides fields of the pods' default: runAsNonRoot, and the runtime's default seccomp profile.", askAdvanced),
			spec("securityContext", "Container security context", "Overrides fields of the container's default: no privilege escalation, no capabilities.", askAdvanced),
		},
		StatusDescriptors: []v1alpha1.StatusDescriptor{
			status("conditions", "Conditions", "Available, Progressing, Degraded, and Ready, which sums them up.", showConditions),
			status("ingressClaim.host", "Claimed host", "Host that the application holds.", showText),
			status("ingressClaim.path", "Claimed path", "Path that the application holds on the host.", showText),
			status("ingressClaim.since", "Claimed since", "When the application claimed host and path.", showText),
			status("observedGeneration", "Observed generation", "Generation of the resource that the status describes.", showText),
			status("readyReplicas", "Ready replicas", "Number of pods that accept connections.", showPodCount),
			status("replicas", "Replicas", "Number of pods, ready or not.", showPodCount),
			status("selector", "Selector", "Label selector of the pods, for the scale subresource.", showText),
			status("url", "URL", "Address of the application.", showLink),
		},
	}
}
