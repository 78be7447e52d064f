package v1alpha1

// The conditions of a Memcached. Each carries the generation of the spec it was computed for. They are computed anew
// from what is observed; the operator never reads them back to decide anything.
const (
	// ConditionReady summarises: True when the cache is exactly as the spec asks. Otherwise its reason and message
	// are those of the condition that stands in the way.
	ConditionReady = "Ready"

	// ConditionAvailable is True when clients can be served: at least one node is ready, or none is wanted.
	ConditionAvailable = "Available"

	// ConditionProgressing is True while nodes are being started, replaced or stopped.
	ConditionProgressing = "Progressing"

	// ConditionDegraded is True when something is wrong that will not pass by itself, or has not for some time.
	ConditionDegraded = "Degraded"

	// ConditionUpdatePending is True when the operator would change the pods, but waits because items would be lost. The
	// message says what it is, and how to let it happen.
	ConditionUpdatePending = "UpdatePending"
)

// The reasons that conditions give. A reason is part of the API: scripts and alerts match it, so its meaning never
// changes. Every reason that the operator uses is declared here; a test reads the source to make sure.
const (
	// ReasonAllNodesReady: every node that is wanted is ready, and no other exists.
	ReasonAllNodesReady = "AllNodesReady"

	// ReasonScaledToZero: spec.size is 0 and no node exists.
	ReasonScaledToZero = "ScaledToZero"

	// ReasonSomeNodesReady: some but not all of the wanted nodes are ready.
	ReasonSomeNodesReady = "SomeNodesReady"

	// ReasonNoNodeReady: nodes are wanted, and none is ready.
	ReasonNoNodeReady = "NoNodeReady"

	// ReasonNodesStarting: nodes are wanted that are not ready yet.
	ReasonNodesStarting = "NodesStarting"

	// ReasonNodesUpdating: nodes are being replaced one after another because their pod template has changed.
	ReasonNodesUpdating = "NodesUpdating"

	// ReasonNodesStopping: there are more nodes than wanted, and the surplus is being stopped.
	ReasonNodesStopping = "NodesStopping"

	// ReasonAsExpected: nothing is wrong.
	ReasonAsExpected = "AsExpected"

	// ReasonNodesFailing: the container of at least one node cannot start or does not keep running, for example
	// because its image cannot be pulled.
	ReasonNodesFailing = "NodesFailing"

	// ReasonNodesUnschedulable: no machine of the cluster has room for at least one node.
	ReasonNodesUnschedulable = "NodesUnschedulable"

	// ReasonUpdateStuck: nodes are being changed one after another, and it does not go on by itself; or one has been stopping
	// for more than ten minutes. The message says at which node and why. It goes on when that is mended, or the spec is
	// changed or reverted.
	ReasonUpdateStuck = "UpdateStuck"

	// ReasonNodesRefused: the API server refuses to create pods, for example because a quota is used up.
	ReasonNodesRefused = "NodesRefused"

	// ReasonProgressDeadlineExceeded: a rollout has made no progress for ten minutes.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonNameConflict: an object that the cache needs exists already and belongs to somebody else. It is left
	// alone. Rename the cache, or rename or delete that object; the operator looks again every minute.
	ReasonNameConflict = "NameConflict"

	// ReasonWaitingForDeletion: an object of an earlier cache of this name, or the namespace, is still being deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"

	// ReasonRejected: the API server refuses an object that the cache needs, for example because an admission
	// policy forbids it. The message quotes the API server.
	ReasonRejected = "Rejected"

	// ReasonNothingPending: no change waits to be released.
	ReasonNothingPending = "NothingPending"

	// ReasonWaitingForRelease: a change that loses items waits to be released.
	ReasonWaitingForRelease = "WaitingForRelease"

	// ReasonUnknownVersion: spec.version is none that this version of the operator knows. The cache goes on as it was.
	ReasonUnknownVersion = "UnknownVersion"

	// ReasonInvalidCombination: fields of the spec do not go together. The message says which, and which to change. The cache
	// goes on as it was.
	ReasonInvalidCombination = "InvalidCombination"

	// ReasonInvalidSizing: memory limit, cache memory, connections and item size do not go together. The cache goes on as it
	// was.
	ReasonInvalidSizing = "InvalidSizing"

	// ReasonInvalidArguments: spec.extraArgs has an argument for which there is a field, or that cannot work. The cache goes
	// on as it was.
	ReasonInvalidArguments = "InvalidArguments"

	// ReasonSecretNotFound: a Secret that the spec names does not exist. The cache goes on as it was; the operator looks
	// again soon.
	ReasonSecretNotFound = "SecretNotFound"

	// ReasonInvalidCertificate: the Secret of spec.tls lacks something, or has a certificate that cannot be used, for example
	// because it has expired. Nodes that run keep the certificate they have.
	ReasonInvalidCertificate = "InvalidCertificate"

	// ReasonInvalidUsers: the Secret of spec.auth has users that memcached cannot take over, for example more than eight.
	// Nodes that run keep the users they have.
	ReasonInvalidUsers = "InvalidUsers"

	// ReasonAgentUnavailable: the operator was started without the image of its agent, and the spec needs it.
	ReasonAgentUnavailable = "AgentUnavailable"

	// ReasonReconcileError: talking to the API server failed. The operator tries again by itself.
	ReasonReconcileError = "ReconcileError"
)

// The reasons of events.
const (
	// EventDriftRepaired: somebody else changed an object of the cache, and it has been put back.
	EventDriftRepaired = "DriftRepaired"

	// EventNodeUpdating: a running node of a StatefulSet is being changed, or replaced. The message says how and why.
	EventNodeUpdating = "NodeUpdating"
)
