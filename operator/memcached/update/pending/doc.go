// Package pending decides which pod template a running cache gets: the wanted one, or the one that it has if the difference loses
// items and the user has not asked for it. It is pure.
//
// The user's own changes never wait. To tell them from the operator's changes, the earlier spec and the present spec are
// rendered with the same code. A change that only the operator wants is made at once if it keeps the items (live and warm changes
// of a StatefulSet). Otherwise it is pending until the user approves it by its ID in spec.updates.release, or until
// spec.updates.policy is Automatic. When a change of the user's loses the items anyway, the pending change is made along with it.
//
// Three kinds of template are involved: the given one, the wanted one, and templates between the two, which have as much of the
// wanted one as possible without losing items. What they lack of the wanted template is pending.
//
// A new image has to be on the nodes of the pods before it is in the template: a container that has been stopped for an image that
// cannot be pulled does not come back. Images that cannot be pulled are pending, even those that the user has asked for.
//
// A file uses only declarations of the files after it: decide.go, pull.go, templates.go, input.go.
package pending
