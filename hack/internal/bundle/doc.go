// Package layout lays out a bundle directory: which file holds what, from the objects of the other packages. It
// composes in memory first, so that writing and checking for freshness are the same comparison.
package bundle
