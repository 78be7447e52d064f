// Package access reads the files that say how memcached is reached: certificates and users. Each reading is a snapshot
// that never changes, so that the old way in stays known until memcached has taken over the new one.
//
// The files are those that memcached itself reads: a Secret mounted into both containers. The kubelet replaces all files
// of a Secret at once, but a reader that opens one file after the other can still see the certificate of before and the
// key of after: such a pair is refused here, and sound a moment later.
package access
