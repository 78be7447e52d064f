// Package change tells what it takes to bring a running cache to the state that is wanted: each difference is live
// (nothing restarts), warm (memcached restarts in the same pod and finds its items again) or cold (items are lost). It is
// pure, and it decides nothing: whether and when a change is made is up to the caller.
//
// A State describes how a cache runs. Read makes one from a pod template, of what is wanted as well as of what runs, so both
// are compared as Kubernetes would run them: defaults that the API server fills in, and memcached's own, are no
// difference. So a template may differ from another in its bytes while no change is reported. Whoever applies one must then
// leave the running one alone, because a Deployment replaces its pods for any difference.
//
// The classes follow from three facts, measured with memcached 1.6.18 to 1.6.45 on Kubernetes 1.36:
//
//   - The template of a Deployment cannot be changed without replacing its pods. A StatefulSet that updates its pods on
//     deletion only leaves them running, and what Kubernetes lets one change on a running pod is changed there: labels,
//     annotations, images, and resources where the cluster has pods/resize.
//   - memcached finds its items again after a restart with -e, if their layout is the same (-m, -I, -n, -f, -C, slab
//     options) and the version reads what the other one saved: any from 1.6.18 on reads what an older one saved, and 1.6.38 what
//     1.6.45 did; 1.6.18 does not read what 1.6.38 saved. Other pairs count as cold until they have been measured.
//   - cache_memlimit changes -m at run time, but not with -e. The arguments of the pod stay as they were: the caller has to take
//     CacheMemory of what runs from `stats settings`, and to see to it that a memcached that restarts by itself in a pod that was
//     made smaller does not begin with the old -m.
package diff
