// Package executor makes the steps that package rollout decides on: it patches, resizes, evicts and deletes the pods of a
// StatefulSet. Only this package and package apply write the objects of a cache. Pods are in no plan, because the StatefulSet
// creates them.
//
// A step depends on all pods and not only on the one that it changes: if another pod has just become unready, the step must not be
// made. So before each step the executor reads the StatefulSet and its pods from the API server, and makes no step if anything has
// changed. That is one read and one list of metadata for each step. In the steady state there are no steps.
//
// A ready pod is evicted, so that its PodDisruptionBudget is respected. An unready pod is deleted: a PodDisruptionBudget that
// protects it would prevent its repair. A degraded pod is unready because of its agent, but serves clients. Package rollout makes
// sure that such a pod is deleted only while no other pod is being updated.
//
// A file uses only declarations of the files after it: executor.go, pull.go, confirm.go, evict.go, refusal.go.
package executor
