// Package bridge makes a memcached that wants TLS and a password look like one that wants neither, on a Unix socket that
// only this process's user can reach. It is for clients that cannot log in: the library that collects memcached's metrics.
package bridge
