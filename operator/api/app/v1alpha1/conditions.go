package v1alpha1

// The conditions of an Application. Each carries the generation of the spec it was computed for. They are computed anew
// from what is observed; the operator never reads them back to decide anything.
const (
	// ConditionReady summarises: True when the application is exactly as the spec asks. Otherwise its reason and message
	// are those of the condition that stands in the way.
	ConditionReady = "Ready"

	// ConditionAvailable is True when requests can be served: at least one pod is ready, or none is wanted.
	ConditionAvailable = "Available"

	// ConditionProgressing is True while pods are being started, replaced or stopped.
	ConditionProgressing = "Progressing"

	// ConditionDegraded is True when something is wrong that will not pass by itself, or has not for some time.
	ConditionDegraded = "Degraded"
)

// The reasons that conditions give. A reason is part of the API: scripts and alerts match it, so its meaning never
// changes. Every reason that the operator uses is declared here; a test reads the source to make sure.
const (
	// ReasonAllPodsReady: every pod that is wanted is ready, and no other exists.
	ReasonAllPodsReady = "AllPodsReady"

	// ReasonScaledToZero: spec.replicas is 0 and no pod exists.
	ReasonScaledToZero = "ScaledToZero"

	// ReasonSomePodsReady: some but not all of the wanted pods are ready.
	ReasonSomePodsReady = "SomePodsReady"

	// ReasonNoPodReady: pods are wanted, and none is ready.
	ReasonNoPodReady = "NoPodReady"

	// ReasonPodsStarting: pods are wanted that are not ready yet.
	ReasonPodsStarting = "PodsStarting"

	// ReasonPodsUpdating: pods are being replaced one after another because their template has changed.
	ReasonPodsUpdating = "PodsUpdating"

	// ReasonPodsStopping: there are more pods than wanted, and the surplus is being stopped.
	ReasonPodsStopping = "PodsStopping"

	// ReasonAsExpected: nothing is wrong.
	ReasonAsExpected = "AsExpected"

	// ReasonPodsFailing: the container of at least one pod cannot start or does not keep running, for example because
	// its image cannot be pulled.
	ReasonPodsFailing = "PodsFailing"

	// ReasonPodsUnschedulable: no machine of the cluster has room for at least one pod.
	ReasonPodsUnschedulable = "PodsUnschedulable"

	// ReasonPodsRefused: the API server refuses to create pods, for example because a quota is used up.
	ReasonPodsRefused = "PodsRefused"

	// ReasonProgressDeadlineExceeded: a rollout has made no progress for ten minutes.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonHostConflict: an older Application has the same host and path in its ingress. It keeps them; this one has no
	// Ingress until the other gives them up or is deleted, or this one asks for others.
	ReasonHostConflict = "HostConflict"

	// ReasonCacheNotFound: a Memcached that spec.caches names does not exist. The pods run without it.
	ReasonCacheNotFound = "CacheNotFound"

	// ReasonCacheNotBound: a Memcached that spec.caches names exists, but does not say yet how to connect to it.
	ReasonCacheNotBound = "CacheNotBound"

	// ReasonNameConflict: an object that the application needs exists already and belongs to somebody else. It is left
	// alone. Rename the application, or rename or delete that object; the operator looks again every minute.
	ReasonNameConflict = "NameConflict"

	// ReasonWaitingForDeletion: an object of an earlier application of this name, or the namespace, is still being
	// deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"

	// ReasonRejected: the API server refuses an object that the application needs, for example because an admission
	// policy forbids it. The message quotes the API server.
	ReasonRejected = "Rejected"

	// ReasonReconcileError: talking to the API server failed. The operator tries again by itself.
	ReasonReconcileError = "ReconcileError"
)

// The reasons of events.
const (
	// EventDriftRepaired: somebody else changed an object of the application, and it has been put back.
	EventDriftRepaired = "DriftRepaired"
)
