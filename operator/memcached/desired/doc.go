// Package desired computes the objects that a cache needs. It is pure: the same inputs give the same plan, without a
// client, a context, a clock or the environment.
//
// Whatever changes the pod template makes Kubernetes replace every pod, which empties the cache. So the template says
// only what is needed, nothing in it depends on the operator's version or on the order of a map, and the golden files in
// testdata show every change to it in review.
package desired
