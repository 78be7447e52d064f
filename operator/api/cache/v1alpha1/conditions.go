package v1alpha1

// The condition types of a Memcached. Each condition carries the generation of the spec that it was computed for. The
// operator computes conditions from observed objects and never makes a decision based on them.
const (
	// ConditionReady summarises the other conditions. It is True when the cache matches its spec. Otherwise reason and
	// message are those of the condition that prevents it.
	ConditionReady = "Ready"

	// ConditionAvailable is True when the cache can serve clients: at least one pod is ready, or spec.size is 0.
	ConditionAvailable = "Available"

	// ConditionProgressing is True while pods are being started, replaced or stopped.
	ConditionProgressing = "Progressing"

	// ConditionDegraded is True when there is a problem that does not resolve by itself, or has lasted for some time.
	ConditionDegraded = "Degraded"

	// ConditionUpdatePending is True while a change that would lose items waits for approval. The message names the
	// change and the command that approves it.
	ConditionUpdatePending = "UpdatePending"
)

// The condition reasons. A reason is part of the API: scripts and alerts match it, so its meaning never changes. All
// reasons that the operator uses are declared here, which a test checks.
const (
	// ReasonAllNodesReady: all wanted pods are ready, and there are no others.
	ReasonAllNodesReady = "AllNodesReady"

	// ReasonScaledToZero: spec.size is 0 and no pod exists.
	ReasonScaledToZero = "ScaledToZero"

	// ReasonSomeNodesReady: some of the wanted pods are ready, but not all.
	ReasonSomeNodesReady = "SomeNodesReady"

	// ReasonNoNodeReady: pods are wanted, but none is ready.
	ReasonNoNodeReady = "NoNodeReady"

	// ReasonNodesStarting: not all wanted pods exist and are ready yet.
	ReasonNodesStarting = "NodesStarting"

	// ReasonNodesUpdating: pods are being changed or replaced because their template has changed.
	ReasonNodesUpdating = "NodesUpdating"

	// ReasonNodesStopping: there are more pods than wanted, and the surplus is being stopped.
	ReasonNodesStopping = "NodesStopping"

	// ReasonAsExpected: there is nothing to report.
	ReasonAsExpected = "AsExpected"

	// ReasonNodesFailing: a container of at least one pod cannot start or keeps exiting, for example because its image
	// cannot be pulled.
	ReasonNodesFailing = "NodesFailing"

	// ReasonNodesUnschedulable: at least one pod cannot be scheduled to any node.
	ReasonNodesUnschedulable = "NodesUnschedulable"

	// ReasonUpdateStuck: an update of the pods does not proceed, or a pod has been stopping for more than ten minutes.
	// The message names the pod and the cause. The update continues when the cause is fixed, or the spec is changed or
	// reverted.
	ReasonUpdateStuck = "UpdateStuck"

	// ReasonNodesRefused: the API server rejects new pods, for example because a quota is exceeded.
	ReasonNodesRefused = "NodesRefused"

	// ReasonProgressDeadlineExceeded: a rollout has made no progress for ten minutes.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonNameConflict: an object that the cache needs already exists and belongs to someone else. The operator does
	// not change it. Rename the cache, or rename or delete that object; the operator checks again every minute.
	ReasonNameConflict = "NameConflict"

	// ReasonWaitingForDeletion: an object of an earlier cache of the same name, or the namespace, is still being
	// deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"

	// ReasonRejected: the API server rejects an object that the cache needs, for example because of an admission
	// policy. The message contains the API server's answer.
	ReasonRejected = "Rejected"

	// ReasonNothingPending: no change waits for approval.
	ReasonNothingPending = "NothingPending"

	// ReasonWaitingForRelease: a change that would lose items waits for approval.
	ReasonWaitingForRelease = "WaitingForRelease"

	// ReasonUnknownVersion: this version of the operator does not know spec.version. The running cache is not changed.
	ReasonUnknownVersion = "UnknownVersion"

	// ReasonInvalidCombination: fields of the spec contradict each other. The message names them and what to change.
	// The running cache is not changed.
	ReasonInvalidCombination = "InvalidCombination"

	// ReasonInvalidSizing: memory limit, cache memory, connections and item size do not fit together. The running cache
	// is not changed.
	ReasonInvalidSizing = "InvalidSizing"

	// ReasonInvalidArguments: spec.extraArgs has an argument that a field stands for, or that cannot work. The running
	// cache is not changed.
	ReasonInvalidArguments = "InvalidArguments"

	// ReasonSecretNotFound: a Secret that the spec names does not exist. The running cache is not changed; the operator
	// checks again soon.
	ReasonSecretNotFound = "SecretNotFound"

	// ReasonInvalidCertificate: the Secret of spec.tls is incomplete, or its certificate cannot be used, for example
	// because it has expired. Running pods keep their certificate.
	ReasonInvalidCertificate = "InvalidCertificate"

	// ReasonInvalidUsers: the Secret of spec.auth has users that memcached cannot load, for example more than eight.
	// Running pods keep their users.
	ReasonInvalidUsers = "InvalidUsers"

	// ReasonAgentUnavailable: the spec needs the agent, but the operator was started without the agent's image.
	ReasonAgentUnavailable = "AgentUnavailable"

	// ReasonTooManyPods: spec.size is above 1,000. The running pods are not changed.
	ReasonTooManyPods = "TooManyPods"

	// ReasonSpecTooLarge: spec has more than 128 KiB of JSON. Nothing is changed.
	ReasonSpecTooLarge = "SpecTooLarge"

	// ReasonPodSecurityViolation: the pods would violate the pod security standard "restricted", which spec.podAnnotations can cause. The
	// running cache is not changed.
	ReasonPodSecurityViolation = "PodSecurityViolation"

	// ReasonAnnotationNotAllowed: spec.service.annotations has keys that the administrator of the operator does not allow. The Service
	// and the running cache are not changed.
	ReasonAnnotationNotAllowed = "AnnotationNotAllowed"

	// ReasonReconcileError: a request to the API server failed. The operator retries.
	ReasonReconcileError = "ReconcileError"
)

// The event reasons.
const (
	// EventDriftRepaired: another client changed an object of the cache, and the operator restored it.
	EventDriftRepaired = "DriftRepaired"

	// EventNodeUpdating: a running pod of a StatefulSet is being changed or replaced. The message says how and why.
	EventNodeUpdating = "NodeUpdating"

	// EventRestartIgnored: somebody asked for a restart of the pods of a StatefulSet (kubectl rollout restart), and they go on, because
	// their items would be lost.
	EventRestartIgnored = "RestartIgnored"

	// EventImageNotPulled: an image that pods of a StatefulSet are to get cannot be pulled onto the node of one of them, so no
	// container is stopped for it. The message is that of the condition UpdatePending.
	EventImageNotPulled = "ImageNotPulled"
)
