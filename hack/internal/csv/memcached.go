package csv

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func memcached() v1alpha1.CRDDescription {
	return v1alpha1.CRDDescription{
		DisplayName: "Memcached",
		Description: "A cache of one or more memcached pods, each with its own share of the items.",
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
		SpecDescriptors: slices.Concat(memcachedCapacity(), memcachedAccess(), memcachedUpdates(), memcachedScheduling(), memcachedMetadata()),
		StatusDescriptors: []v1alpha1.StatusDescriptor{
			status("binding.name", "Binding", "Secret with the addresses of the cache, for programs to mount (https://servicebinding.io).", showSecret),
			status("conditions", "Conditions", "Available, Progressing, Degraded, UpdatePending, and Ready, which sums them up.", showConditions),
			status("endpoints", "Endpoints", "Name, host name, address, port, readiness and version of each pod, and whether it started warm or cold.", showText),
			status("nodes", "Nodes", "Names of the pods of the cache, sorted.", showText),
			status("observedGeneration", "Observed generation", "Generation of the resource that the status describes.", showText),
			status("pending.changes", "Pending changes", "The fields that the pending change would change, each with its class and the reason.", showText),
			status("pending.class", "Pending class", "Effect of the pending change on the items. Cold loses them.", showText),
			status("pending.id", "Pending change", "Write this into spec.updates.release to approve the change.", showText),
			status("readyReplicas", "Ready pods", "Number of pods that are ready.", showPodCount),
			status("replicas", "Pods", "Number of pods, ready or not.", showPodCount),
			status("selector", "Selector", "Label selector of the pods, for the scale subresource.", showText),
		},
	}
}

// memcachedCapacity are the fields for the number of pods and their capacity.
func memcachedCapacity() []v1alpha1.SpecDescriptor {
	return []v1alpha1.SpecDescriptor{
		spec("size", "Size", "Number of memcached pods. 0 stops them all and loses their items.", showPodCount),
		spec("workload", "Workload", "Workload that runs the pods. The pods of a StatefulSet keep their names and can change without losing items.",
			askOneOf("Deployment", "StatefulSet")...),
		spec("version", "Version", "Version of memcached, one of those that the operator offers, for example 1.6.45. Default: chosen by the operator.", askText),
		spec("image", "Image", "Image of memcached. Default: the official image of the version.", askText, askAdvanced),
		spec("resources", "Resources", "CPU and memory requests and limits of each pod. Default memory: 128Mi, or 256Mi with TLS.", askResources),
		spec("cacheMemory", "Cache memory", "Memory for items of each pod, in whole MiB. Default: as much as the memory limit allows.", askText),
		spec("maxConnections", "Connections", "Connections that a pod has at a time, 64 to 65536. Memcached keeps 9, and 5 for each thread. Default: 1024.", askNumber),
		spec("maxItemSize", "Item size", "Size of the largest item, a multiple of 512Ki. Default: 1Mi.", askText),
		spec("threads", "Threads", "Threads of a pod that answer requests, 1 to 64. Default: 4.", askNumber, askAdvanced),
		spec("extraArgs", "Extra arguments", "Arguments of memcached that no field sets, one word each.", askText, askAdvanced),
	}
}

// memcachedAccess are the fields for access to the pods.
func memcachedAccess() []v1alpha1.SpecDescriptor {
	const tls, auth, service, policy, monitoring = askGroup + "tls", askGroup + "auth", askGroup + "service", askGroup + "networkPolicy", askGroup + "monitoring"
	return []v1alpha1.SpecDescriptor{
		spec("tls", "TLS", "Requires clients to use TLS.", tls),
		spec("tls.secretName", "TLS Secret", "Secret with certificate, key and CA (tls.crt, tls.key, ca.crt). A new certificate takes effect without a restart.", tls, showSecret),
		spec("tls.clientCertificates", "Client certificates", "Whether clients must present a certificate of that CA. Default: they are not asked for one.",
			append(askOneOf("Required", "Optional"), tls)...),
		spec("auth", "Authentication", "Requires clients to give a user name and a password.", auth),
		spec("auth.secretName", "Users Secret", `Secret whose key "users" has up to 8 lines user:password. Changes take effect without a restart.`, auth, showSecret),
		spec("service", "Service", "One address for all ready pods, for clients that do not distribute keys over pods.", service),
		spec("service.type", "Service type", "Type of the Service. Default: ClusterIP.", append(askOneOf("ClusterIP", "NodePort", "LoadBalancer"), service)...),
		spec("service.annotations", "Service annotations", "Annotations of the Service, for example for a load balancer.", service, askText),
		spec("networkPolicy", "Network policy", "Limits who can connect. Default: no limit.", policy, askAdvanced),
		spec("networkPolicy.clients", "Clients", "Peers that may connect, as in a NetworkPolicy. Default: every pod of the same namespace.", policy, askText),
		spec("monitoring", "Monitoring", "Serves metrics for Prometheus on port 9150 of each pod. In a Deployment without TLS and users, setting or removing it replaces the pods and loses their items.", monitoring),
		spec("monitoring.labels", "Labels", "Labels of the ServiceMonitor, for a Prometheus that selects by labels.", monitoring, askText),
	}
}

// memcachedUpdates are the fields for what happens to items when pods change.
func memcachedUpdates() []v1alpha1.SpecDescriptor {
	const updates, gate = askGroup + "updates", askGroup + "hitRatioGate"
	return []v1alpha1.SpecDescriptor{
		spec("warmRestart", "Warm restart", "Keeps the items when a newer version of memcached starts. Needs a StatefulSet. Deletions during the restart are lost.", askSwitch),
		spec("updates", "Updates", "When the operator makes its own changes that lose items.", updates),
		spec("updates.policy", "Update policy", "Changes by the operator that lose items wait for approval (OnRelease) or happen at once (Automatic). Default: OnRelease.",
			append(askOneOf("OnRelease", "Automatic"), updates)...),
		spec("updates.release", "Release", "Approves the change with this id although it loses items. The id is in status.pending.id.", updates, askText),
		spec("hitRatioGate", "Hit ratio gate", "Replaces the next pod only after the hit ratio of the previous one has recovered. Needs a StatefulSet.", gate, askAdvanced),
		spec("hitRatioGate.recoveredPercent", "Recovered", "Share of the other pods' hit ratio to reach, in percent. Default: 90.", gate, askNumber),
		spec("hitRatioGate.timeout", "Timeout", "Longest time to wait for it. Default: 10m.", gate, askText),
	}
}

// memcachedScheduling are the fields for where pods run, and when they may be evicted.
func memcachedScheduling() []v1alpha1.SpecDescriptor {
	const spread, disruption = askGroup + "topologySpread", askGroup + "disruption"
	return []v1alpha1.SpecDescriptor{
		spec("topologySpread", "Topology spread", "How pods are spread: a preset or constraints.", spread, askAdvanced),
		spec("topologySpread.preset", "Spread", "Spreads pods over nodes or zones. Default: PreferHosts, which spreads over nodes as far as there is room.",
			append(askOneOf("PreferHosts", "RequireHosts", "PreferZones", "RequireZones", "None"), spread, askAdvanced)...),
		spec("topologySpread.constraints", "Spread constraints", "Constraints as in a pod, instead of a preset.", spread, askAdvanced),
		spec("affinity", "Affinity", "Affinity of the pods.", askAdvanced),
		spec("tolerations", "Tolerations", "Tolerations of the pods.", askAdvanced),
		spec("nodeSelector", "Node selector", "Labels of the nodes that may run the pods.", askAdvanced),
		spec("priorityClassName", "Priority class", "PriorityClass of the pods.", askAdvanced, askText),
		spec("disruption", "Disruption", "Limits how many pods are evicted at a time. Default: no limit.", disruption, askAdvanced),
		spec("disruption.maxUnavailable", "Max unavailable", "Pods that evictions may make unavailable at a time, a number or a percentage. Default: 1. "+
			"The pod of a cache of one can always be evicted.", disruption, askAdvanced, askText),
	}
}

// memcachedMetadata are the fields for metadata of the pods.
func memcachedMetadata() []v1alpha1.SpecDescriptor {
	return []v1alpha1.SpecDescriptor{
		spec("podLabels", "Pod labels", "Labels to add to the pods.", askAdvanced, askText),
		spec("podAnnotations", "Pod annotations", "Annotations to add to the pods.", askAdvanced, askText),
	}
}
