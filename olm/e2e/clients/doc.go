// Package clients uses caches and web applications as programs in the cluster do, and counts failures: the evidence that an
// upgrade of the operator interrupts nobody. It finds pods by their DNS names, speaks TLS and logs in. With it, the
// end-to-end tests drive gomemcache, a client library in Go, and pymemcache, one in Python.
//
// Load does not repeat a request. A request without a correct answer in time has failed, so that nothing on the way can hide a
// failure.
//
// Neither library can log in to memcached's ASCII protocol, but both let their user open the connection and send the login
// there. Access.Dial, and Client in pymemcache.py, are all that an application needs for that.
//
// gomemcache's own list of servers looks names up once. With Spread, each connection looks them up, so that it finds a pod
// that was recreated.
package clients
