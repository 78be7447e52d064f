// Package pods reads pods: their names, their specs, and what Kubernetes says of them. It is pure, and the one place
// that knows how: who decides by a pod, and who tells of it, must not disagree.
package pods
