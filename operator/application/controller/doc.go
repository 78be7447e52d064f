// Package controller reconciles Applications: its watches, its permissions, and Reconcile, which passes data from one stage
// to the next. The objects of an application are in package desired, its status in package status; neither belongs here.
package controller

// The markers below are the permissions of the controller; hack/bundle generates the released roles from them. The reason
// for each verb:
//
//   - applications get: a live read before a write, so that an outdated cache never changes a running application, and before
//     a host is claimed that another Application asks for as well.
//   - applications/finalizers update: needed for blockOwnerDeletion, see the controller of Memcached.
//   - memcacheds list and watch: an Application reports whether its caches exist.
//   - get of owned kinds: a live read if the cache, which contains only objects with the operator's label, has no object of
//     that name.
//   - create and patch of owned kinds: a server-side apply that creates an object needs both.
//   - ingresses and poddisruptionbudgets delete: they are removed when the spec no longer asks for them.
//   - events create and patch: patch counts repetitions of an event.
//
// +kubebuilder:rbac:groups=app.example.com,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups=app.example.com,resources=applications/status,verbs=patch
// +kubebuilder:rbac:groups=app.example.com,resources=applications/finalizers,verbs=update
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
