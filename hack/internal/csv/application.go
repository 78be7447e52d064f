package csv

import "github.com/operator-framework/api/pkg/operators/v1alpha1"

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
