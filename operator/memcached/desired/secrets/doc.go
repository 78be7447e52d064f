// Package secrets judges the Secrets that a cache is given, before memcached reads them: what it says about them at its
// start ends in its log, and then it ends. It is pure: a Secret goes in, an error comes out that names the Secret, the key
// in it and the mend, but never what is secret. How users and certificates are parsed is the agent's (package api of the agent), so
// that operator and agent agree on what is sound.
//
// Facts, each measured with memcached 1.6.18, 1.6.38 and 1.6.45 (the tests measure them again):
//
//   - memcached that asks for client certificates, required or optional, refuses one that is not for clients (key usage,
//     extended key usage), and one whose chain it cannot follow to a CA that signed itself: it trusts no CA in between by
//     itself. The agent shows it memcached's own certificate. memcached that does not ask takes no offence at either.
//   - Of the users it takes eight. After a line of 255 bytes or more it takes over none of those that follow.
package secrets
