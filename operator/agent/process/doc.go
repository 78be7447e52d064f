// Package process finds memcached's process, which runs in another container of the same pod, tells when it started, and
// signals it. The pod has to share its process namespace (shareProcessNamespace: true), and both containers have to run as
// the same user.
package process
