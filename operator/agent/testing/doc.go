// Package testing starts real memcacheds for the tests of the agent's packages, and makes certificates for them.
package testing
