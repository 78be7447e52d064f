// Package api is all that the operator imports of the agent: the state of memcached, which the agent serves and the operator
// fetches, and the parsing of users and certificates, on which both have to agree. It imports the standard library only, so
// that the operator can use it without the libraries of the agent.
package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// StatePath is where the agent serves the State, as JSON. While memcached does not answer, the status is 503 and the body the
// error in plain text.
const StatePath = "/state"

// State describes memcached at one moment. Names in JSON stay: operator and agent may come from different releases.
type State struct {
	// Version of memcached, for example 1.6.45.
	Version string `json:"version"`

	// Process is memcached's process ID. After the node has rebooted, another process may have the same.
	Process int64 `json:"process"`

	// Run names the run of memcached from its start to its end: another Run means that memcached was restarted. Agents before
	// 0.4.0 do not report it.
	Run string `json:"run,omitempty"`

	// Started is when memcached's process was started, in whole seconds.
	Started time.Time `json:"started"`

	// Warm tells whether memcached started with its memory from before. It is measured: memcached's uptime goes on across such a
	// start, while its process is young.
	Warm bool `json:"warm"`

	// Before is how many items memcached had at the last check before the start; 0 if there was none.
	Before int64 `json:"before"`

	// Restored is how many items memcached had at the first check after a warm start; 0 after a cold one.
	Restored int64 `json:"restored"`

	// Items is how many items memcached has. One or two of them belong to the agent.
	Items int64 `json:"items"`

	// Hits, Misses and Evictions are counted since memcached was started, or since "stats reset". They include the agent's gets.
	Hits      int64 `json:"hits"`
	Misses    int64 `json:"misses"`
	Evictions int64 `json:"evictions"`

	// HitRatio is the share of gets that found an item, 0 to 1, over the last minute, or since memcached was started if that
	// is less. Gets of the agent do not count. It is null if there were no others.
	HitRatio *float64 `json:"hitRatio"`

	// CacheMemory is how much memory items may take, in MiB: memcached's limit (limit_maxbytes), or more while memcached has
	// not released all memory above a lowered limit. Once it equals the wanted memory, the container's limit may be lowered.
	CacheMemory int64 `json:"cacheMemory"`

	// HashBytes is the size of memcached's hash table, which never becomes smaller while memcached runs. Agents before 0.4.0 do not
	// report it.
	HashBytes int64 `json:"hashBytes,omitempty"`

	// Certificate is the certificate that memcached shows to clients; null without TLS.
	Certificate *Certificate `json:"certificate"`

	// Problem says what is wrong now, for example why users could not be reloaded. It is empty if nothing is. It may become
	// part of a condition, so it has no details that change with each check: no ports of clients, no time of day.
	Problem string `json:"problem"`
}

// Certificate is a server certificate.
type Certificate struct {
	// NotAfter is when it expires.
	NotAfter time.Time `json:"notAfter"`

	// Fingerprint is what the function Fingerprint returns for it.
	Fingerprint string `json:"fingerprint"`
}

// Fingerprint returns the SHA-256 of a certificate in DER, in lower-case hexadecimal digits.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
