// Package clients uses caches as programs in the cluster do: it finds nodes by the DNS names of their slots, speaks TLS and
// logs in. Through it, the end-to-end tests drive gomemcache, a client library in Go, and pymemcache, one in Python.
//
// Neither library can log in to memcached's ASCII protocol. Both let their user open the connection, and that is where
// the login is sent: what is here for that (Access.Dial, and Client in pymemcache.py) is all that an application needs.
//
// gomemcache's own list of servers looks names up once. With Spread they are looked up for each connection, so a slot
// whose pod was made anew is found again.
package clients
