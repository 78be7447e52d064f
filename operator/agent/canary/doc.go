// Package canary measures what a client of memcached sees: it stores one small item and reads it back, over a connection
// that stays open as a client's does.
package canary
