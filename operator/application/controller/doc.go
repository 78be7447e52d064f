// Package application is the controller of the kind Application: what it watches, what it may do, and its Reconcile,
// which passes data from one stage to the next and decides nothing itself. What an application looks like is in
// desired/application, what its status says in status; neither belongs here.
package controller

// The markers below are the controller's whole permissions; hack/bundle turns them into the roles that ship. Each verb
// is used:
//
//   - applications get: one live read before a write, so that a stale cache never changes a running application.
//   - applications/finalizers update: never called, see the controller of Memcached.
//   - memcacheds list and watch: an application that names a cache says whether it is there.
//   - get of what is made: one live read when the cache, which holds only our own objects, does not know a name.
//   - create and patch of what is made: a server-side apply that creates needs both.
//   - ingresses and poddisruptionbudgets delete: they go when the spec asks for them no more.
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
