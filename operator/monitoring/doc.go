// Package monitoring puts what monitoring systems are given once for all caches (package manifest) into the operator's own
// namespace, and keeps it there.
//
// The kinds are not part of Kubernetes. Whether the cluster knows them is asked at the start and every few minutes, which
// costs a request for each that is missing, so they may be installed at any time. Outside a pod nothing is done at all.
//
//   - The objects belong to nobody. With the operator's Deployment as owner, they would go and come back with every upgrade
//     that replaces it, and alerts that are about to fire would begin to wait anew. So they stay when the operator is
//     uninstalled, unless its namespace goes as well.
//   - They are applied again at each look: the API server writes nothing if nothing differs, and there are four of them. What
//     somebody has changed is put back. What we say nothing about stays, such as labels by which a Prometheus selects.
//   - An object of the same name without our label was made by somebody else, and is left alone.
//   - Without them caches run as well, so a failure is logged, once for each cause, and tried again.
//
// Nothing is held in a cache for this: one would need to list and watch kinds that may not exist.
//
// +kubebuilder:rbac:groups=monitoring.coreos.com,namespace=memcached-operator-system,resources=prometheusrules;servicemonitors,verbs=get;create;patch
// +kubebuilder:rbac:groups=grafana.integreatly.org,namespace=memcached-operator-system,resources=grafanadashboards,verbs=get;create;patch
// +kubebuilder:rbac:groups="",namespace=memcached-operator-system,resources=configmaps,verbs=get;create;patch
package monitoring
