// Package status computes what an object's status says from what was observed and how the pass went. It is pure: the
// time is handed in. An earlier status decides nothing but when a condition changed, and with which items memcached
// started if its agent, which said so once, cannot be asked now.
package conditions
