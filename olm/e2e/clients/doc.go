// Package clients uses caches and web applications as programs in the cluster do, and counts what fails: the evidence that
// an upgrade of the operator interrupts nobody. It finds pods by their DNS names, speaks TLS and logs in. Through it, the
// end-to-end tests drive gomemcache, a client library in Go, and pymemcache, one in Python.
//
// Load asks nothing twice. A request that gets no right answer in time has failed, whatever lies between here and the server,
// so that nothing on the way can hide a failure.
//
// Neither library can log in to memcached's ASCII protocol. Both let their user open the connection, and that is where
// the login is sent: what is here for that (Access.Dial, and Client in pymemcache.py) is all that an application needs.
//
// gomemcache's own list of servers looks names up once. With Spread they are looked up for each connection, so a pod that
// was made anew is found again.
package clients
