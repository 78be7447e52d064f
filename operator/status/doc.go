// Package status computes what an object's status says from what was observed and how the pass went. It is pure: the
// time is handed in, and nothing is decided by what an earlier status said.
package status
