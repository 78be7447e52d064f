package pod

import (
	"fmt"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

// arguments returns the command line of memcached. The user's extra arguments come last, as they are.
func arguments(s settings) []string {
	a := args.Default()
	a.CacheMemory, a.MaxConnections = s.size.CacheMemory, s.size.MaxConnections
	a.MaxItemSize, a.Threads = s.size.MaxItemSize, s.size.Threads
	if s.Spec.WarmRestart {
		a.MemoryFile = memoryFile
		if !savesHashPower(s.version) {
			a.HashPower = sizing.HashPower(s.size.CacheMemory)
		}
	}
	if s.Spec.Auth != nil {
		a.AuthFile = usersFile
	}
	if s.Spec.TLS != nil {
		a.TLS, a.TLSOptions = true, tlsOptions(s.Spec.TLS.ClientCertificates)
	}
	return append(a.Format(), s.Spec.ExtraArgs...)
}

// savesHashPower reports whether a version of memcached saves the size of its table of items along with the items: 1.6.45 does, 1.6.38
// does not. Otherwise the table would grow several times right after a warm restart, which can hang memcached
// (https://github.com/memcached/memcached/issues/742). Of an unknown version, nothing is known.
func savesHashPower(version string) bool {
	parsed, err := semver.Parse(version)
	return err == nil && parsed.GTE(semver.Version{Major: 1, Minor: 6, Patch: 45})
}

// verifyModes are the values of memcached's ssl_verify_mode. The CA is named only when memcached asks for client certificates:
// a CA alone would make memcached accept clients without a certificate, but refuse those with one that the CA did not sign.
var verifyModes = map[v1alpha1.ClientCertificates]string{
	v1alpha1.ClientCertificatesOptional: "1",
	v1alpha1.ClientCertificatesRequired: "2",
}

func tlsOptions(clients v1alpha1.ClientCertificates) []string {
	options := []string{"ssl_chain_cert=" + certificateFile, "ssl_key=" + keyFile}
	if mode := verifyModes[clients]; mode != "" {
		options = append(options, "ssl_ca_cert="+caFile, "ssl_verify_mode="+mode)
	}
	return options
}

// fields are memcached's options for which the spec has a field, by their short names.
var fields = map[string]string{
	"-m": "cacheMemory", "-c": "maxConnections", "-I": "maxItemSize", "-t": "threads", "-e": "warmRestart",
	"-Z": "tls", "-Y": "auth", "-S": "auth",
}

// reserved are options that the operator sets, or that keep memcached from serving in a pod, and why.
var reserved = map[string]string{
	"-p": fmt.Sprintf("clients find memcached at port %d", args.Port), "-U": "memcached is reached over TCP alone",
	"-l": "probes and clients need every address", "-s": "memcached is reached over TCP alone", "-a": "there is no Unix socket",
	"-d": "a container ends with its first process", "-P": "a container needs no file with its process ID",
	"-u": "the pod says as which user memcached runs", "-B": "the agent and its probes speak the ASCII protocol",
	"-h": "memcached would print its help and end", "-V": "memcached would print its version and end",
	"-i": "memcached would print its licence and end",
	"-A": "anybody who can connect could stop memcached",
}

// checkExtra refuses extra arguments that fight with a field or with the operator.
func checkExtra(spec v1alpha1.MemcachedSpec) error {
	options, err := args.Options(spec.ExtraArgs)
	if err != nil {
		return fmt.Errorf("spec.extraArgs: %w", err)
	}
	for _, option := range options {
		name := option.Name
		if field := fields[name]; field != "" {
			return fmt.Errorf("spec.extraArgs: %s is set by spec.%s: remove it here, and use that field", option.Written, field)
		}
		if why := reserved[name]; why != "" {
			return fmt.Errorf("spec.extraArgs: %s cannot be used, because %s: remove it", option.Written, why)
		}
		if option.Incomplete() {
			return fmt.Errorf("spec.extraArgs: %s needs a value: add it as the next word, or remove %s", option.Written, option.Written)
		}
		if name == "-o" && strings.Contains(","+option.Value, ",ssl_") {
			return fmt.Errorf("spec.extraArgs: options of TLS are set by spec.tls: remove %s %s", option.Written, option.Value)
		}
		if name == "-o" && strings.Contains(","+option.Value, ",proxy_") {
			// A configuration is a program in Lua, and may be in a Secret of spec.tls.
			return fmt.Errorf("spec.extraArgs: memcached would be a proxy instead of a cache: remove %s %s", option.Written, option.Value)
		}
		if name == "-o" && spec.WarmRestart && strings.Contains(","+option.Value, ",ext_") {
			return fmt.Errorf("spec.extraArgs: memcached cannot keep items on disk with spec.warmRestart: remove %s %s, or warmRestart", option.Written, option.Value)
		}
	}
	return nil
}
