// Package diff compares two states of a cache and classes each difference:
//
//   - live: nothing restarts;
//   - warm: memcached restarts in the same pod and finds its items again;
//   - cold: the items are lost;
//   - next replacement: milder than live; running pods do without the change.
//
// It only compares. Whether and when a change is made is up to its callers, packages pending and rollout.
//
// A State describes the pods of a cache. Read makes one from a pod template, and fills in the defaults of the API server and of
// memcached, so that defaults are no difference. Two templates can therefore differ in their bytes although Compare reports no
// change. A caller that applies a template to a Deployment must then keep the template that the Deployment has: a Deployment
// replaces its pods for any difference in bytes.
//
// The classes follow from facts measured with memcached 1.6.18 to 1.6.45 on Kubernetes 1.36:
//
//   - A Deployment replaces its pods when its template changes. A StatefulSet with the update strategy OnDelete leaves them
//     running, so the operator can change on a running pod what Kubernetes lets it: labels, annotations, images, and resources
//     where the cluster has pods/resize.
//   - memcached with -e finds its items again after a restart if their layout is the same (-m, -I, -n, -f, -C, slab options) and
//     the new version reads what the old one saved. Versions from 1.6.18 on read what an older one saved. 1.6.38 reads what
//     1.6.45 saved; 1.6.18 does not read what 1.6.38 saved. Within a minor version, newer ones than these
//     count as measured; every other pair is cold.
//   - The command cache_memlimit changes -m while memcached runs, but not with -e. The arguments of the pod stay as they were.
//     The caller therefore has to take CacheMemory of a running pod from `stats settings`. The agent makes sure that memcached
//     does not go on with the old -m when it restarts in a pod whose memory limit was lowered.
//
// A file uses only declarations of the files after it: diff.go, fields.go, classes.go, template.go, flatten.go,
// state.go.
package diff
