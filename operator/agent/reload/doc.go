// Package reload makes memcached take over certificates and users that changed on disk, without a restart and without
// losing a connection, and proves that it did.
//
// The files are compared by content every few seconds. That needs no knowledge of how they are replaced (the kubelet swaps
// a symbolic link), cannot miss a change, and costs three small files. At the first look memcached is told nothing that it
// has read by itself, since the files were put in place: an agent is started anew whenever the operator is upgraded, and a
// reload is not free of risk.
//
//   - Certificates: memcached is told refresh_certs. Then its statistics have to say that it did so just now, and over TLS
//     it has to show the new certificate.
//   - Users: memcached is sent SIGHUP, which it acts on within a second. Then every user of the file has to get in, and one
//     that is gone or has a new password has to be refused with the old one.
//
// A memcached that is told to read a broken pair refuses every TLS connection from then on. So files are checked first: the
// key belongs to the certificate, which is valid now, and signed by the CA for the name by which the agent knows the
// server. Since 1.6.40 SIGHUP reads certificates as well, so users wait until the certificates on disk are sound.
//
// A memcached that asks clients for certificates can crash when it reads its own while a TLS handshake is under way, and
// all items are lost: it frees the names of the CAs, of which the handshake is about to tell the client
// (load_server_certificates in its tls.c). With clients that connected all the time, 7 of 69,925 reloads did that, in 1.6.18,
// 1.6.38 and 1.6.45; without client certificates none of 99,205. So the agent is in no handshake during a reload, and tells
// memcached no more often than needed. What clients do it cannot help. BenchmarkReloadsWhileOthersConnect shows both.
//
// What a reload does not do, seen with 1.6.18 and 1.6.45: a CA that was replaced stays trusted, beside the new one, for the
// certificates of clients until memcached is restarted. And no connection is closed: whoever is logged in on one stays so,
// also as a user who is gone.
//
// Until memcached has taken over what is new, the agent goes in with what was there before. A connection for refresh_certs
// stays open until it succeeds. What this cannot mend: an agent that is itself restarted between a change of the CA and its
// reload knows only the new CA, and cannot connect to a memcached that still shows a certificate of the old one.
package reload
