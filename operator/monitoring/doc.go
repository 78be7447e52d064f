// Package monitoring installs the alerts and the dashboard for all caches (package manifest) in the operator's own namespace,
// and keeps them there.
//
// Their kinds are not part of Kubernetes. The leader checks at the start and every few minutes whether the cluster has them,
// which costs one request per missing kind, so they can be installed at any time. Outside a pod, nothing is installed.
//
//   - The objects have no owner. If they belonged to the operator's Deployment, an upgrade that replaces it would delete and
//     recreate them, and alerts that are pending would start again. They therefore stay when the operator is uninstalled,
//     unless its namespace is deleted.
//   - All four objects are applied at each check: the API server writes nothing if nothing differs. Changes by other clients
//     are reverted. Fields set by others are kept, such as labels that a Prometheus selects by.
//   - An object of the same name without the operator's label belongs to someone else and is not changed.
//   - Caches work without these objects, so a failure is logged, once per cause, and retried.
//
// The objects are not cached, because a cache would have to list and watch kinds that may not exist. Permissions are limited to their
// names, but for create, which cannot be. Those for ServiceMonitors come from the controller of Memcached, in all namespaces.
//
// +kubebuilder:rbac:groups=monitoring.coreos.com,namespace=memcached-operator-system,resources=prometheusrules,verbs=create
// +kubebuilder:rbac:groups=monitoring.coreos.com,namespace=memcached-operator-system,resources=prometheusrules,resourceNames=memcached-operator-alerts,verbs=get;patch
// +kubebuilder:rbac:groups=grafana.integreatly.org,namespace=memcached-operator-system,resources=grafanadashboards,verbs=create
// +kubebuilder:rbac:groups=grafana.integreatly.org,namespace=memcached-operator-system,resources=grafanadashboards,resourceNames=memcached-operator-dashboard,verbs=get;patch
// +kubebuilder:rbac:groups="",namespace=memcached-operator-system,resources=configmaps,verbs=create
// +kubebuilder:rbac:groups="",namespace=memcached-operator-system,resources=configmaps,resourceNames=memcached-operator-dashboard,verbs=get;patch
package monitoring
