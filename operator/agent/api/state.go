package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Path is where the agent serves the State, as JSON. Without an answer of memcached it is 503 and the error in plain text.
const Path = "/state"

// State is what one look at memcached found. Names in JSON stay: operator and agent may come from different releases.
type State struct {
	// Version of memcached, for example 1.6.45.
	Version string `json:"version"`

	// Process is memcached's process ID. In a pod that shares its process namespace, another one means that memcached was
	// started anew.
	Process int64 `json:"process"`

	// Started is when memcached was last started, in whole seconds. After a warm start it is when the agent first saw it: at
	// most the time between two of its looks later.
	Started time.Time `json:"started"`

	// Warm tells whether memcached began with items of before. One that had none before begins cold.
	Warm bool `json:"warm"`

	// Before is how many items memcached had when the agent last looked at it before the start; 0 if it never did.
	Before int64 `json:"before"`

	// Restored is how many items of before memcached began with. It is a lower bound if the agent saw the start late.
	Restored int64 `json:"restored"`

	// Items is how many items memcached has. One or two of them are of the agent.
	Items int64 `json:"items"`

	// Hits, Misses and Evictions are counted since memcached was started, or since "stats reset". Gets of the agent count, too.
	Hits      int64 `json:"hits"`
	Misses    int64 `json:"misses"`
	Evictions int64 `json:"evictions"`

	// HitRatio is the share of gets that found an item, 0 to 1, over the last minute, or since memcached was started if that
	// is less. Gets of the agent do not count. It is null if there were no others.
	HitRatio *float64 `json:"hitRatio"`

	// CacheMemory is how much memory items may take, in MiB: memcached's limit (limit_maxbytes), or, once that was lowered,
	// what memcached has not given back yet. So a container's limit may follow when this is what was asked for.
	CacheMemory int64 `json:"cacheMemory"`

	// Certificate is what memcached shows to clients; null without TLS.
	Certificate *Certificate `json:"certificate"`

	// Problem says what is not right at the moment, for example why users could not be reloaded. It is empty when all is
	// well.
	Problem string `json:"problem"`
}

// Certificate is a server certificate.
type Certificate struct {
	// NotAfter is when it expires.
	NotAfter time.Time `json:"notAfter"`

	// Fingerprint is that of function Fingerprint.
	Fingerprint string `json:"fingerprint"`
}

// Fingerprint returns the SHA-256 of a certificate in DER, in lower-case hexadecimal digits.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
