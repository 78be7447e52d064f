package v1alpha1

// The condition types of an Application. Each condition carries the generation of the spec that it was computed for. The
// operator computes conditions from observed objects and never makes a decision based on them.
const (
	// ConditionReady summarises the other conditions. It is True when the application matches its spec. Otherwise
	// reason and message are those of the condition that prevents it.
	ConditionReady = "Ready"

	// ConditionAvailable is True when the application can serve requests: at least one pod is ready, or spec.replicas
	// is 0.
	ConditionAvailable = "Available"

	// ConditionProgressing is True while pods are being started, replaced or stopped.
	ConditionProgressing = "Progressing"

	// ConditionDegraded is True when there is a problem that does not resolve by itself, or has lasted for some time.
	ConditionDegraded = "Degraded"
)

// The condition reasons. A reason is part of the API: scripts and alerts match it, so its meaning never changes. All
// reasons that the operator uses are declared here, which a test checks.
const (
	// ReasonAllPodsReady: all wanted pods are ready, and there are no others.
	ReasonAllPodsReady = "AllPodsReady"

	// ReasonScaledToZero: spec.replicas is 0 and no pod exists.
	ReasonScaledToZero = "ScaledToZero"

	// ReasonSomePodsReady: some of the wanted pods are ready, but not all.
	ReasonSomePodsReady = "SomePodsReady"

	// ReasonNoPodReady: pods are wanted, but none is ready.
	ReasonNoPodReady = "NoPodReady"

	// ReasonPodsStarting: not all wanted pods exist and are ready yet.
	ReasonPodsStarting = "PodsStarting"

	// ReasonPodsUpdating: pods are being replaced because their template has changed.
	ReasonPodsUpdating = "PodsUpdating"

	// ReasonPodsStopping: there are more pods than wanted, and the surplus is being stopped.
	ReasonPodsStopping = "PodsStopping"

	// ReasonAsExpected: there is nothing to report.
	ReasonAsExpected = "AsExpected"

	// ReasonPodsFailing: the container of at least one pod cannot start or keeps exiting, for example because its image
	// cannot be pulled.
	ReasonPodsFailing = "PodsFailing"

	// ReasonPodsUnschedulable: at least one pod cannot be scheduled to any node.
	ReasonPodsUnschedulable = "PodsUnschedulable"

	// ReasonPodsRefused: the API server rejects new pods, for example because a quota is exceeded.
	ReasonPodsRefused = "PodsRefused"

	// ReasonProgressDeadlineExceeded: a rollout has made no progress for ten minutes.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonHostConflict: another Application has the same host and path, or one of another namespace has a host and path
	// that overlap with them, and keeps them. No Ingress is created for this one until the other one gives them up or is
	// deleted, or this one uses others.
	ReasonHostConflict = "HostConflict"

	// ReasonCacheNotFound: a Memcached in spec.caches does not exist. The pods run without it.
	ReasonCacheNotFound = "CacheNotFound"

	// ReasonCacheNotBound: a Memcached in spec.caches exists, but has not published how to connect to it yet.
	ReasonCacheNotBound = "CacheNotBound"

	// ReasonNameConflict: an object that the application needs already exists and belongs to someone else. The operator
	// does not change it. Rename the application, or rename or delete that object; the operator checks again every
	// minute.
	ReasonNameConflict = "NameConflict"

	// ReasonWaitingForDeletion: an object of an earlier application of the same name, or the namespace, is still being
	// deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"

	// ReasonRejected: the API server rejects an object that the application needs, for example because of an admission
	// policy. The message contains the API server's answer.
	ReasonRejected = "Rejected"

	// ReasonTooManyPods: spec.replicas is above 1,000. The running pods are not changed.
	ReasonTooManyPods = "TooManyPods"

	// ReasonSpecTooLarge: spec has more than 128 KiB of JSON. Nothing is changed.
	ReasonSpecTooLarge = "SpecTooLarge"

	// ReasonPodSecurityViolation: the pods would violate the pod security standard that the operator demands of Applications. The
	// message says why. No Deployment is created; an existing one stays as it is.
	ReasonPodSecurityViolation = "PodSecurityViolation"

	// ReasonReconcileError: a request to the API server failed. The operator retries.
	ReasonReconcileError = "ReconcileError"
)

// The event reasons.
const (
	// EventDriftRepaired: another client changed an object of the application, and the operator restored it.
	EventDriftRepaired = "DriftRepaired"
)
