// Package application computes the desired state of a web application. It is pure: the same inputs give the same plan,
// and it knows no client, context, clock or environment.
//
// The pod template depends on the Application's spec alone. A cache that comes or goes, or changes its mind about how to
// reach it, restarts no pod: the pod refers to the cache by names that never change, and the kubelet fills in the rest.
package desired
