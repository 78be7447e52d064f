// Package agent is what runs beside memcached in its pod, as the command `memcached-operator agent`. It holds what needs
// to speak to one memcached closely, so that the operator does not have to reach into pods:
//
//   - /metrics: those of prometheus/memcached_exporter, and our own about latency, certificates, starts and reloads.
//   - /readyz: memcached lets the agent in and answers. /livez: it answers anything at all. /healthz: the agent runs.
//   - /state: what the operator has to know of this memcached, as JSON (package state).
//   - Certificates and users that change on disk are reloaded, and proved to be (package reload).
//   - The memory for items follows a file (package memory).
//
// A liveness probe of memcached through the agent restarts memcached also when the agent is what is broken: give the agent
// one of its own (/healthz), and memcached's more patience.
//
// The parts know nothing of each other but connection.Dialer, through which all of them reach memcached. Nothing here
// depends on Kubernetes.
package agent
