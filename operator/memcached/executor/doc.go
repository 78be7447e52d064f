// Package executor makes the steps that package nodes decides on: it patches, resizes, evicts and deletes the pods of a
// StatefulSet. Together with operator/apply it is all that writes what a cache consists of; pods are not in any plan, because
// the StatefulSet makes them.
//
// A step rests on all pods, not only on the one it changes: another one that has just been made unready must keep it from
// being made. So before each step the StatefulSet and its pods are looked at without a cache, and if anything has changed, no
// step is made. That is one read and one list of metadata for each step; in the steady state there are no steps.
//
// A pod that is ready is evicted, so that a PodDisruptionBudget is respected. A pod that is not ready is deleted: a budget that
// keeps it would keep it from being mended. Package nodes sees to it that one that serves clients all the same, because only
// its agent is not ready, is deleted only while no other is being changed.
package executor
