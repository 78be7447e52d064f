// Package hitratio tells how many of the gets of the last minute found an item. memcached only counts since its start, so
// the counts of each look are kept for a minute.
package hitratio
