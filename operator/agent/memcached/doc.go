// Package connection reaches memcached: over TCP or a Unix socket, in plain text or TLS, with or without a password.
//
// Three facts about memcached, seen with 1.6.18 and 1.6.45, shape it:
//
//   - A memcached that asks for no password takes the login, which is a set of the key "auth", for an item and stores the
//     password where everybody can read it. So a connection asks for the version first, and logs in only if that is
//     refused.
//   - Who is logged in stays so when the password changes; a connection that is open outlives every reload.
//   - A memcached that has no connection left says so in plain text, even to a client that expects TLS. Whatever it says
//     shows that it is alive.
package memcached
