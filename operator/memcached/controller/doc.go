// Package controller is the controller of the kind Memcached: its watches, its permissions, and Reconcile, which passes data
// from one stage to the next and decides nothing itself. The objects of a cache are computed in desired, its status in status,
// and updates of its pods in update.
package controller

// The markers below are the controller's whole permissions; hack/bundle turns them into the roles that ship. Each verb
// is used:
//
//   - memcacheds get: one live read before a write that ends pods, so that a stale cache never changes a running one.
//   - memcacheds/finalizers update: never called. Clusters that run the admission plugin
//     OwnerReferencesPermissionEnforcement (OpenShift does) want it from the writer of blockOwnerDeletion, which is what
//     makes `kubectl delete --cascade=foreground` wait for the pods.
//   - get of what a cache owns: one live read when the operator's caches, which hold only our own objects, do not have a
//     name although it should be there, or when a new object exists already; and one of a Deployment that a version before 0.3.0 created.
//   - create and patch of what a cache owns: a server-side apply that creates needs both. delete: objects that the
//     spec no longer asks for, and the old workload after spec.workload was changed.
//   - secrets get: certificates and users that a spec names, and the Secret that the operator makes for a cache. Secrets are not
//     listed and not watched: RBAC cannot limit that to those which the operator makes.
//   - pods patch, pods/resize patch: running pods of a StatefulSet are changed in place. pods/eviction create: they are
//     replaced as disruption budgets allow. pods delete: pods that do not serve, or are degraded, are replaced whatever
//     budgets say. pods create: a pod pulls new images on a node before a container there is stopped for them.
//     controllerrevisions list and watch: the template that a pod was made from.
//   - controllerrevisions get, create, patch and delete: the records of what a workload was given.
//   - deployments/scale and statefulsets/scale update: the number of pods. Admission policies for workloads do not see it, so
//     they cannot change the pod template along with it.
//   - events list: why pods of a StatefulSet cannot be created, which no status says; read while some are missing.
//   - events create and patch: patch counts repetitions of an event. Leader election emits events, too.
//
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments/scale;statefulsets/scale,verbs=update
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=events,verbs=list;create;patch
