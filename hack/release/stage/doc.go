// Package stage publishes every release, and on request the version under development, to a registry of the user's
// choice, so that a cluster can install them through OLM: program images rebuilt from their commits, bundles from
// their frozen directories, and a catalog over them.
//
// What it may change on the way is declared: operand images by a map, and the place of the images. Everything else is
// what was released, digest by digest.
package stage
