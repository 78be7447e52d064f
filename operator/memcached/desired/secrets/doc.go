// Package secrets checks the Secrets of a cache before memcached reads them: memcached only logs what is wrong with them, and
// exits. It is pure: a Secret goes in, and an error comes out that names the Secret, the key and how to mend it, but nothing
// secret. Users and certificates are parsed by package agent/api, so that operator and agent agree on what is valid.
//
// Facts, each measured with memcached 1.6.18, 1.6.38 and 1.6.45 (the tests measure them again):
//
//   - memcached that asks for client certificates, required or optional, refuses one that is not for clients (key usage,
//     extended key usage), and one whose chain it cannot follow to a CA that signed itself: it trusts no CA in between by
//     itself. The agent shows it memcached's own certificate. memcached that does not ask takes no offence at either.
//   - Of the users it takes eight. After a line of 255 bytes or more it takes over none of those that follow.
//   - memcached 1.6.18 lets nobody in with one user whose line does not end with a newline; 1.6.38 and 1.6.45 do.
package secrets
