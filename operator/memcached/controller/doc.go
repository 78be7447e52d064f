// Package memcached is the controller of the kind Memcached: what it watches, what it may do, and its Reconcile, which
// passes data from one stage to the next and decides nothing itself. What a cache looks like is in desired/memcached,
// what its status says in status; neither belongs here.
package controller

// The markers below are the controller's whole permissions; hack/bundle turns them into the roles that ship. Each verb
// is used:
//
//   - memcacheds get: one live read before a write, so that a stale cache never changes a running one.
//   - memcacheds/finalizers update: never called. Clusters that run the admission plugin
//     OwnerReferencesPermissionEnforcement (OpenShift does) want it from whoever sets blockOwnerDeletion, which is what
//     makes `kubectl delete --cascade=foreground` wait for the pods.
//   - get of what a cache owns: one live read when the operator's caches, which hold only our own objects, do not know a
//     name; and of what runs nodes when a version before 0.3.0 made it.
//   - create and patch of what a cache owns: a server-side apply that creates needs both. delete: what the user does not
//     want any more, and what has run the nodes when they have moved from a Deployment to a StatefulSet or back.
//   - secrets get: certificates and users that a spec names. secrets list and watch: the Secret of a cache says where it
//     is and holds nothing confidential, and only Secrets with our label are asked for. RBAC cannot limit a verb to a
//     label, so the permission is wider than the use.
//   - pods patch, pods/resize patch: running nodes of a StatefulSet are changed in place. pods/eviction create: they are
//     replaced as disruption budgets allow. pods delete: those that serve nobody, or limp, are replaced whatever
//     budgets say. controllerrevisions: what a pod was made from.
//   - events list: why pods of a StatefulSet cannot be created, which nothing else tells; read while some are missing.
//   - events create and patch: patch counts repetitions of an event. Leader election tells who leads with one, too.
//
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=events,verbs=list;create;patch
