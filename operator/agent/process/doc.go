// Package process finds memcached's process, which runs in another container of the same pod, and signals it. The pod has
// to share its process namespace (shareProcessNamespace: true), and both containers have to run as the same user.
package process
