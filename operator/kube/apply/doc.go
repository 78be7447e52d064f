// Package apply writes owned objects. No other package does. It applies a plan by server-side apply with one field
// manager, and knows nothing about the meaning of the objects.
//
// A write that would change nothing is not sent, because it costs the API server as much as one that changes something.
// The wanted configuration is compared with the cached object, field by field, with the library and schema that the API
// server uses. Only fields of the configuration are compared. An annotation holds a hash of the last applied
// configuration, which distinguishes two reasons for a difference: the configuration has changed (the hash differs), or
// another client has changed the object (drift). The hash also makes sure that a field which is no longer wanted is
// removed, which a comparison of wanted fields cannot detect.
//
// A Deployment that keeps no records (owned.Rendered) is annotated in the same write with who wanted its pod template. That is neither
// compared nor part of the hash, and no reason to write.
//
// Immediately before a write that ends pods or deletes something, the owner is read from the API server. If it differs from what the
// caller has seen, nothing is written: an operator with an outdated copy of the owner must never scale down a running cache. For other
// writes to existing objects that is done once for each owner, which protects what an earlier leader has written. The resourceVersion
// protects the owned object in the same way.
//
// The objects of a new owner are created without reading anything: such a write conflicts with an object that is there.
//
// Admission policies and webhooks may change more than a write asks for. So a write that only repairs is dry-run first: it is left out
// if it would change nothing, because something rewrites the object each time. Workloads whose template is recorded (owned.Recorded)
// are scaled through their subresource, and a Deployment is not written if its pods would be replaced for something that nobody has
// asked for: that write waits for approval (Result.Held).
package apply
