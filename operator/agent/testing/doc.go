// Package testing starts real memcacheds for the tests of the agent's packages, and issues certificates, also for the
// end-to-end tests.
package testing
