package csv

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func memcached() v1alpha1.CRDDescription {
	return v1alpha1.CRDDescription{
		DisplayName: "Memcached",
		Description: "A cache made of a number of memcached servers, each with its own share of the items.",
		Resources: []v1alpha1.APIResourceReference{
			{Kind: "Deployment", Version: "v1"},
			{Kind: "NetworkPolicy", Version: "v1"},
			{Kind: "Pod", Version: "v1"},
			{Kind: "PodDisruptionBudget", Version: "v1"},
			{Kind: "Secret", Version: "v1"},
			{Kind: "Service", Version: "v1"},
			{Name: "servicemonitors.monitoring.coreos.com", Kind: "ServiceMonitor", Version: "v1"},
			{Kind: "StatefulSet", Version: "v1"},
		},
		SpecDescriptors: slices.Concat(memcachedServers(), memcachedAccess(), memcachedUpdates(), memcachedScheduling(), memcachedPods()),
		StatusDescriptors: []v1alpha1.StatusDescriptor{
			status("binding.name", "Binding", "Secret that says where the cache is, for programs to mount (https://servicebinding.io).", showSecret),
			status("conditions", "Conditions", "Available, Progressing, Degraded, UpdatePending, and Ready, which sums them up.", showConditions),
			status("endpoints", "Endpoints", "Each server as clients reach it: pod, host name, address, port, whether it is ready, its version, and whether it began warm or cold.", showText),
			status("nodes", "Nodes", "Names of the pods that serve the cache, sorted.", showText),
			status("observedGeneration", "Observed generation", "Generation of the resource that the status describes.", showText),
			status("pending.changes", "Pending changes", "What a change that waits to be released would change, field by field, each with its class and the reason.", showText),
			status("pending.class", "Pending class", "What a change that waits to be released would do to the items: Cold loses them.", showText),
			status("pending.id", "Pending change", "Write this into spec.updates.release to let the change happen.", showText),
			status("readyReplicas", "Ready servers", "How many servers are ready.", showPodCount),
			status("replicas", "Servers", "How many servers there are, ready or not.", showPodCount),
			status("selector", "Selector", "Label selector of the cache's pods, as the scale subresource reports it.", showText),
		},
	}
}

// memcachedServers are the fields that say how many servers there are and what each can hold.
func memcachedServers() []v1alpha1.SpecDescriptor {
	return []v1alpha1.SpecDescriptor{
		spec("size", "Size", "How many memcached servers to run. 0 stops them all; their items are lost then.", showPodCount),
		spec("workload", "Workload", "What runs the servers: a Deployment, or a StatefulSet, whose servers keep their names and can be changed without losing items.",
			askOneOf("Deployment", "StatefulSet")...),
		spec("version", "Version", "Version of memcached, one of those that the operator knows, for example 1.6.45. The operator chooses without.", askText),
		spec("image", "Image", "Image of memcached instead of an official one.", askText, askAdvanced),
		spec("resources", "Resources", "CPU and memory that each server requests, and that it is limited to; 128Mi of memory without, 256Mi with TLS.", askResources),
		spec("cacheMemory", "Cache memory", "Memory for items of each server, in whole MiB; without, as much as the memory limit can hold.", askText),
		spec("maxConnections", "Connections", "How many connections a server has at a time, 64 to 65536, of which memcached keeps 9, and 5 for each thread; 1024 without.", askNumber),
		spec("maxItemSize", "Item size", "Size of the largest item, a multiple of 512Ki; 1Mi without.", askText),
		spec("threads", "Threads", "How many threads of a server answer requests, 1 to 64; 4 without.", askNumber, askAdvanced),
		spec("extraArgs", "Further arguments", "Arguments of memcached that no field stands for, each word by itself.", askText, askAdvanced),
	}
}

// memcachedAccess are the fields that say who gets to the servers, and how.
func memcachedAccess() []v1alpha1.SpecDescriptor {
	const tls, auth, service, policy, monitoring = askGroup + "tls", askGroup + "auth", askGroup + "service", askGroup + "networkPolicy", askGroup + "monitoring"
	return []v1alpha1.SpecDescriptor{
		spec("tls", "TLS", "Clients have to use TLS.", tls),
		spec("tls.secretName", "TLS Secret", "Secret with certificate, key and CA (tls.crt, tls.key, ca.crt). A new certificate is taken over without a restart.", tls, showSecret),
		spec("tls.clientCertificates", "Client certificates", "Whether clients have to show a certificate of that CA; without, they are not asked for one.",
			append(askOneOf("Required", "Optional"), tls)...),
		spec("auth", "Authentication", "Clients have to give a name and a password.", auth),
		spec("auth.secretName", "Users Secret", `Secret whose key "users" has up to 8 lines user:password. Changes are taken over without a restart.`, auth, showSecret),
		spec("service", "Service", "One address for all servers that are ready, for clients that do not spread keys over servers themselves.", service),
		spec("service.type", "Service type", "ClusterIP, also without, NodePort or LoadBalancer.", append(askOneOf("ClusterIP", "NodePort", "LoadBalancer"), service)...),
		spec("service.annotations", "Service annotations", "Annotations of the Service, for example for a load balancer.", service, askText),
		spec("networkPolicy", "Network policy", "Limits who can connect; without, the operator limits nothing.", policy, askAdvanced),
		spec("networkPolicy.clients", "Clients", "Who may connect, as in a NetworkPolicy; every pod of the same namespace without.", policy, askText),
		spec("monitoring", "Monitoring", "Each server has metrics for Prometheus on port 9150. In a Deployment without TLS and users, setting or removing it replaces the servers, and their items are lost.", monitoring),
		spec("monitoring.labels", "Labels", "Labels of the ServiceMonitor, for a Prometheus that selects by them.", monitoring, askText),
	}
}

// memcachedUpdates are the fields that say what becomes of items when servers are changed.
func memcachedUpdates() []v1alpha1.SpecDescriptor {
	const updates, gate = askGroup + "updates", askGroup + "hitRatioGate"
	return []v1alpha1.SpecDescriptor{
		spec("warmRestart", "Warm restart", "Keep the items when a newer version of memcached starts; needs a StatefulSet. Deletions during the restart are missed.", askSwitch),
		spec("updates", "Updates", "When changes of the operator's own are made that lose items.", updates),
		spec("updates.policy", "Update policy", "Changes by the operator that lose items wait to be released (OnRelease, also without), or are made at once (Automatic).",
			append(askOneOf("OnRelease", "Automatic"), updates)...),
		spec("updates.release", "Release", "The change that may be made although items are lost: its id is in status.pending.id.", updates, askText),
		spec("hitRatioGate", "Hit ratio gate", "The next server is replaced only when the one before has filled up again; needs a StatefulSet.", gate, askAdvanced),
		spec("hitRatioGate.recoveredPercent", "Recovered", "How much of the others' hit ratio it has to reach, in percent; 90 without.", gate, askNumber),
		spec("hitRatioGate.timeout", "Timeout", "How long to wait for that at most; 10m without.", gate, askText),
	}
}

// memcachedScheduling are the fields that say where servers run, and when they may be evicted.
func memcachedScheduling() []v1alpha1.SpecDescriptor {
	const spread, disruption = askGroup + "topologySpread", askGroup + "disruption"
	return []v1alpha1.SpecDescriptor{
		spec("topologySpread", "Topology spread", "How servers are spread: a preset, or constraints.", spread, askAdvanced),
		spec("topologySpread.preset", "Spread", "How servers are spread over machines or zones; over machines as far as there is room without.",
			append(askOneOf("PreferHosts", "RequireHosts", "PreferZones", "RequireZones", "None"), spread, askAdvanced)...),
		spec("topologySpread.constraints", "Spread constraints", "Constraints instead of a preset, as in a pod.", spread, askAdvanced),
		spec("affinity", "Affinity", "Affinity of the pods.", askAdvanced),
		spec("tolerations", "Tolerations", "Tolerations of the pods.", askAdvanced),
		spec("nodeSelector", "Node selector", "Labels of the machines that may run the pods.", askAdvanced),
		spec("priorityClassName", "Priority class", "PriorityClass of the pods.", askAdvanced, askText),
		spec("disruption", "Disruption", "Limits how many servers are evicted at a time; without, the operator limits nothing.", disruption, askAdvanced),
		spec("disruption.maxUnavailable", "Evicted at a time", "How many servers may be missing because of evictions, a number or a percentage; 1 without. "+
			"The server of a cache of one can always be evicted.", disruption, askAdvanced, askText),
	}
}

// memcachedPods are the fields that add to the pods.
func memcachedPods() []v1alpha1.SpecDescriptor {
	return []v1alpha1.SpecDescriptor{
		spec("podLabels", "Pod labels", "Labels that are added to the pods.", askAdvanced, askText),
		spec("podAnnotations", "Pod annotations", "Annotations that are added to the pods.", askAdvanced, askText),
	}
}
