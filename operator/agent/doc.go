// Package agent is what runs beside memcached in its pod, as the command `memcached-operator agent`. It holds what needs
// to speak to one memcached closely, so that the operator does not have to reach into pods:
//
//   - /metrics: those of prometheus/memcached_exporter, and our own about latency, certificates, starts and reloads.
//   - /readyz: memcached lets the agent in and answers. /livez: it answers anything at all. /healthz: the agent runs.
//   - /state: what memcached and the agent tell the operator, as JSON (package state).
//   - However many requests of /readyz, /livez or /state come: those of a kind that come together are answered with one
//     look, over one connection.
//   - Certificates and users that change on disk are reloaded, and proved to be (package reload).
//   - The memory for items follows a file (package memory).
//   - While the files of certificates and users cannot be read at the start, it is alive, serves the metrics that there are,
//     and tries again.
//
// A liveness probe of memcached through the agent restarts memcached also when the agent is what is broken: give the agent
// one of its own (/healthz), and memcached's more patience.
//
// The parts know nothing of each other but memcached.Dialer, through which all of them reach memcached. Nothing here
// depends on Kubernetes.
package agent
