// Package rollout updates the pods of a StatefulSet to its template, one after another, without losing items where possible.
// It is pure: Next decides on the one next step, and package executor makes it. Nothing is remembered between two steps except
// what the pods themselves have, so the operator may stop between any two steps.
//
// # What differs
//
// The template of the StatefulSet and its ControllerRevisions are live objects: admission policies and people add to them. So they
// are not compared. Each names the record of what the operator rendered, and two records are compared: that of the revision which
// the pod's label controller-revision-hash names, and that of the template. Images, labels, annotations and resources can be
// changed on a running pod; while it is being updated, its update state says which revisions gave it what it has.
//
// The difference between records says what to change and what that does to the items. The values come from the live template, as
// for a new pod: an admission policy may have moved an image to a mirror. An image that was pulled on the node of the pod (package
// pending) is used as it was pulled there. What the pod itself has does not matter where the records
// say the same, and is not changed.
//
// A revision without a record was written by somebody else, or by a release before 0.4.0 that was itself in the middle of an update.
// Its live template is compared in the fields that the operator wants, and its pods are not replaced unless the user approves all
// changes: the user may delete the pod.
//
// Package diff classes the difference. Live and warm differences are made in place, cold ones by replacing the pod. This package does
// not question a cold difference between records: package pending lets it into the template only when the user has asked for it.
//
// # Updating a pod in place
//
// A pod goes through these steps. Steps that it does not need are left out:
//
//  1. The annotation cache.example.com/update, the update state, says which revision the pod is being updated to.
//  2. The pod is resized, and the kubelet has done it. If the memory limit shrinks, this step comes after step 3, and after the
//     agent has reported that memcached uses no more memory than it may. So the items always fit into the limit, even if an
//     earlier resize has not been done yet.
//     If the agent restarts and clients use the Service of spec.service, the pod is announced, and the Service publishes pods that
//     are not ready until the agent is back: the kubelet reports a pod as not ready while any of its containers is down. If
//     memcached restarts as well, the agent's image is patched first and on its own.
//  3. One patch sets images, labels, annotations and the memory for items. It also notes in the update state which containers
//     are going to restart, and how many items there were.
//  4. The containers have restarted, the pod is ready and the kubelet does not take that back, the agent reports the wanted memory
//     for items, and items that were to survive the restart are there.
//  5. The label controller-revision-hash gets the new revision, and the annotation is removed: the pod is up to date.
//
// If the spec changes during an update, or is reverted, the pod goes through the steps again from its present state. A restart
// that was already asked for is waited for first, unless the container does not run: otherwise nobody could tell which image the
// container has.
//
// # The order of pods
//
//   - A pod that is empty or broken is updated at once: it has no items to lose, so a corrected or reverted spec repairs its pods.
//     A pod is empty if its memcached has never had a container. It is broken if memcached is not ready, and cannot start, has no
//     node, or has not been ready for a minute and is not within the time that its startup probe allows. If the pod may have items
//     in its volume, it is updated in place if possible.
//   - A pod that serves clients is updated when all other pods exist and are ready and none is being updated, the highest ordinal
//     first. So a rollout that does not work stops at its first pod.
//   - A degraded pod serves clients as well: memcached is ready but the pod is not, usually because of its agent, for a minute or
//     because a container cannot start. Degraded pods come before ready ones, one at a time. Other pods do not wait for a degraded
//     pod to become ready until it has been patched or replaced, because that may repair it. Its restart does not wait for an
//     agent that could report what happens to the items either. A degraded pod that is up to date is waited for.
//   - A pod that has just become unready, that terminates, or whose ordinal is not wanted is never changed.
//
// If items are lost in a restart that should have kept them, the rollout stops as long as other pods would follow. To continue,
// remove the annotation cache.example.com/update from the pod. A new or reverted spec continues without that.
//
// A pod whose ControllerRevision does not exist cannot be compared. As long as it serves clients, it is not changed: only the user
// may delete it. Changes that others make to a pod that is up to date stay until a template wants another value for the same field.
//
// # Facts that this depends on, read in Kubernetes v1.36.3
//
//   - A StatefulSet with the update strategy OnDelete creates pods from status.updateRevision. It keeps each revision that the
//     label of a pod names (pkg/controller/statefulset). A spec that is reverted gets its earlier revision back.
//   - The kubelet restarts a container when the text of its image changes (HashContainer in pkg/kubelet/container). It reports the
//     image under the runtime's own name, so only another container ID shows the restart. While the new image is being pulled,
//     the ID is that of the container that has ended.
//   - status.observedGeneration of a pod (Kubernetes 1.34 and later; 0 before) says which spec the kubelet has seen. Where it is
//     not set, only the memory limit in the container's status shows that the kubelet has not noticed a resize yet.
//   - A pod is ready when all its containers are, and the status of each container has its own "ready". The status does not say
//     since when a container is or is not ready: only since when the pod is, and when the container started or ended.
//   - A resize is done when the conditions PodResizePending and PodResizeInProgress are gone and the container's status has the
//     limit of the spec. pods/resize changes resources only, so no annotation can be set along with it.
//
// A file uses only declarations of the files after it: next.go, gate.go, inplace.go, hashtable.go, wait.go, difference.go, edit.go,
// planner.go, health.go, member.go, updatestate.go, step.go, input.go.
package rollout
