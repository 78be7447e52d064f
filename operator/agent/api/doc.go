// Package state is what the agent tells the operator of its memcached, at GET /state: the type, and how it is fetched. It
// imports only the standard library, so that the operator can use it without all that the agent is made of.
//
// What is told may end in a condition of the cache, where a text that changes with each look would be written again and
// again. So problems say nothing that differs from one time to the next: no ports, no time of day.
package api
