// Package nodes brings the pods of a StatefulSet to its template, one after another, without losing items where that can be
// had. It is pure: Next says what the one next step is, package executor makes it. Nothing is remembered between two steps
// but what stands on the pods themselves, so the operator may end between any two of them.
//
// What a pod runs is the template of the ControllerRevision that its label controller-revision-hash names, with the images,
// resources, labels and annotations that the pod has now: those can be changed on a running pod. Where that revision already
// says what is wanted, there is no difference, whatever the pod has: an admission webhook may have put the image into a mirror
// or set a limit, and would do it again, or a person may have edited the pod. Such a thing is neither patched nor resized, and
// nothing restarts for it. While a pod is on its way, its annotation says from which revisions it has what it has. Package
// change classes the difference to the template of the StatefulSet. Live and warm differences are made in place, cold ones by
// replacing the pod. A cold difference is not questioned here: it would not be in the template if it had not been asked for.
//
// In place, a pod goes through these steps. Those that it does not need are left out:
//
//  1. The annotation cache.example.com/update says which revision the pod is being brought to.
//  2. The pod is resized, and the kubelet has done it. When the memory limit becomes less, this comes after 3, and after the
//     agent has reported that memcached takes no more than it may. So items always fit the limit, whatever was asked for
//     before and is not done yet.
//  3. One patch sets images, labels, annotations and the memory for items, and notes in the annotation which containers are
//     going to be restarted, and how many items there were.
//  4. Other containers than those run, the pod is ready, the agent reports the memory that is wanted, and items that were to
//     survive the restart are there.
//  5. The label controller-revision-hash gets the new revision, and the annotation goes: the pod is done.
//
// A spec that changes meanwhile, or is reverted, sends the pod through them again from where it is. A restart that has been
// asked for is awaited before that, unless the container does not run: otherwise nobody could tell which image it has.
//
// The order of pods:
//
//   - A pod that holds nothing (its memcached has never had a container) or is broken (memcached itself is not ready, and
//     cannot start, has no machine, or has not been ready for a minute) is brought to the template at once: there is nothing to
//     lose, and so a spec that is mended or reverted mends its pods. If it may hold items in its volume, that is done in place
//     if it can be.
//   - A pod that serves is touched when all others are there and ready and none is on its way, the one with the highest
//     number first. So a rollout that does not work stops at its first pod.
//   - A pod that limps (memcached itself is ready, but the pod is not, mostly because of its agent: for a minute, or because a
//     container cannot start) serves as well, and comes before those that are ready, one at a time. Nobody waits for it to
//     become ready until it has been patched or replaced: that is what may mend it. Nor does its restart wait for an agent that
//     could tell what becomes of the items. A pod that is of the template and limps is waited for.
//   - A pod that is not ready for a moment, terminates, or is more than what is wanted is never touched.
//
// A restart that should have kept the items, and did not, stops the rollout as long as other pods would follow. To go on all
// the same, take the annotation cache.example.com/update from the pod; a new or reverted spec goes on by itself.
//
// A pod whose ControllerRevision does not exist cannot be compared, and is not touched while it serves clients: to delete it
// is up to the user. What somebody else changes on a pod that is done stays as it is, until a template wants something else of
// just that.
//
// Facts this rests on, read in Kubernetes v1.36.3:
//
//   - A StatefulSet that updates on deletion makes new pods from status.updateRevision, and keeps each revision that the
//     label of a pod names (pkg/controller/statefulset). A spec that is reverted gets its earlier revision back.
//   - The kubelet restarts a container when its image differs as text (HashContainer in pkg/kubelet/container). What it reports
//     as image is the runtime's own name for it, so another container ID shows the restart. While a new image is pulled, the
//     ID is that of the container that has ended.
//   - status.observedGeneration of a pod (Kubernetes 1.34 and later; 0 before) says which spec the kubelet has seen. Where it is
//     not set, a resize that the kubelet has not noticed yet shows only in the memory limit of the container's status.
//   - A pod is ready when all its containers are, and each container has its own "ready" in the status. Since when a container is
//     or is not ready is told nowhere, only since when the pod is, and when the container started or ended.
//   - A resize is done when the conditions PodResizePending and PodResizeInProgress are gone and the container's status has
//     the limit of the spec. pods/resize changes nothing but resources, so no annotation can be set along with it.
package rollout
