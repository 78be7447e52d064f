// Package memcached is the controller of the kind Memcached: what it watches, what it may do, and its Reconcile, which
// passes data from one stage to the next and decides nothing itself. What a cache looks like is in desired/memcached,
// what its status says in status; neither belongs here.
package memcached

// The markers below are the controller's whole permissions; hack/bundle turns them into the roles that ship. Each verb
// is used:
//
//   - memcacheds get: one live read before a write, so that a stale cache never changes a running one.
//   - memcacheds/finalizers update: never called. Clusters that run the admission plugin
//     OwnerReferencesPermissionEnforcement (OpenShift does) want it from whoever sets blockOwnerDeletion, which is what
//     makes `kubectl delete --cascade=foreground` wait for the pods.
//   - deployments, services and secrets get: one live read when the cache, which holds only our own objects, does not
//     know a name.
//   - deployments, services and secrets create and patch: a server-side apply that creates needs both.
//   - secrets list and watch: the Secret of a cache says where it is and holds nothing confidential, and only Secrets with
//     our label are asked for. RBAC cannot limit a verb to a label, so the permission is wider than the use.
//   - events create and patch: patch counts repetitions of an event. Leader election tells who leads with one, too.
//
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services;secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
