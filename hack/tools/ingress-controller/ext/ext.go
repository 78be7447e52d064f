// Package ext has the two types that Traefik's configuration embeds, for additions of others. There are none.
package ext

// HTTP is empty.
type HTTP struct{}

// Router is empty.
type Router struct{}
