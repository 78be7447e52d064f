// Package apply is the only writer of owned objects. It carries a plan into the cluster by server-side apply, under one
// field manager, and knows nothing about what the objects mean.
//
// A write that would change nothing is not sent: it costs the API server as much as one that does. What is wanted is
// compared with the cached object, field by field, by the same library and schema that the API server uses; only fields
// that we have an opinion on count. An annotation with a hash of what was last applied tells the two reasons for a
// difference apart: we want something new (the hash differs), or somebody else has changed the object (drift). It also
// makes sure that a field we stop wanting is given up, which a comparison cannot see.
//
// Before each write, and only then, the owner is read from the API server. If it is not what the caller saw, nothing is
// written: an operator that looks at an old copy of the owner must never scale down a running cache. The owned object is
// protected by its resourceVersion.
package apply
