// Package bridge makes a memcached that wants TLS and a password look like one that wants neither, on a Unix socket that
// only this process's user can reach. It is for clients that cannot log in: the library that collects memcached's metrics.
// It makes a connection at each scrape (memcached_exporter 0.14.3) and leaves it to the garbage collector, so whoever borrows
// the bridge has its connections closed afterwards.
package bridge
