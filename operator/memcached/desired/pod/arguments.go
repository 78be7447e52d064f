package pod

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

// arguments returns memcached's. Those with memcached's own default are left out, but for the three of the first release.
// An option and its value are two arguments: memcached exits on "-m=64".
func arguments(s settings) []string {
	a := s.arguments
	args := []string{
		"-p", strconv.Itoa(Port),
		"-m", strconv.FormatInt(a.CacheMemory, 10),
		"-c", strconv.Itoa(int(a.MaxConnections)),
	}
	if a.MaxItemSize != sizing.DefaultMaxItemSize {
		args = append(args, "-I", strconv.FormatInt(a.MaxItemSize, 10))
	}
	if a.Threads != sizing.DefaultThreads {
		args = append(args, "-t", strconv.Itoa(int(a.Threads)))
	}
	if s.Spec.WarmRestart {
		args = append(args, "-e", memoryFile)
	}
	if s.Spec.Auth != nil {
		args = append(args, "-Y", usersFile)
	}
	if s.Spec.TLS != nil {
		args = append(args, "-Z", "-o", tlsOptions(s.Spec.TLS.ClientCertificates))
	}
	return append(args, s.Spec.ExtraArgs...)
}

// verifyModes are memcached's ssl_verify_mode. The CA is named only when clients are checked: with it alone, one without a
// certificate gets in as well, but one with a wrong certificate does not.
var verifyModes = map[v1alpha1.ClientCertificates]string{
	v1alpha1.ClientCertificatesOptional: "1",
	v1alpha1.ClientCertificatesRequired: "2",
}

func tlsOptions(clients v1alpha1.ClientCertificates) string {
	options := "ssl_chain_cert=" + certificateFile + ",ssl_key=" + keyFile
	if mode := verifyModes[clients]; mode != "" {
		options += ",ssl_ca_cert=" + caFile + ",ssl_verify_mode=" + mode
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
	"-p": "clients find memcached at port 11211", "-U": "memcached is reached over TCP alone",
	"-l": "probes and clients need every address", "-s": "memcached is reached over TCP alone", "-a": "there is no Unix socket",
	"-d": "a container ends with its first process", "-P": "a container needs no file with its process ID",
	"-u": "the pod says as which user memcached runs", "-B": "the agent and its probes speak the ASCII protocol",
	"-h": "memcached would print its help and end", "-V": "memcached would print its version and end",
	"-A": "whoever can connect could stop memcached",
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
		if name == "-o" && strings.Contains(","+option.Value, ",ssl_") {
			return fmt.Errorf("spec.extraArgs: options of TLS are set by spec.tls: remove %s %s", option.Written, option.Value)
		}
		if name == "-o" && spec.WarmRestart && strings.Contains(","+option.Value, ",ext_") {
			return fmt.Errorf("spec.extraArgs: memcached cannot keep items on disk with spec.warmRestart: remove %s %s, or warmRestart", option.Written, option.Value)
		}
	}
	return nil
}
