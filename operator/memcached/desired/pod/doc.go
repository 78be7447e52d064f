// Package pod computes the pod template that the spec of a cache asks for. It is pure.
//
// A template says only what is needed, nothing in it depends on the order of a map, and what is not asked for leaves no
// trace in it: a cache whose spec has nothing but a size has the pods that the first release gave it, with another
// image. Whether a running cache gets the template is decided in package pending.
package pod
