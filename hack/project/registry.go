package project

import (
	"bytes"
	"strings"
)

// Registry says where images are pushed, and by what name manifests refer to them.
type Registry struct {
	// Host is a host, and a path if need be: localhost:5000, registry.example.com/team.
	Host string
	// Rename makes manifests refer to the images where they are pushed. Without it the registry is a mirror of the
	// official one, and manifests keep the official names.
	Rename bool
}

// Push is the repository to push to, for an official repository such as quay.io/example/memcached-operator.
func (p Registry) Push(official string) string {
	if p.Rename {
		return p.Host + strings.TrimPrefix(official, Repository)
	}
	_, path, _ := strings.Cut(official, "/")
	return p.Host + "/" + path
}

// Refer is the repository that manifests name.
func (p Registry) Refer(official string) string {
	if p.Rename {
		return p.Push(official)
	}
	return official
}

// Manifest returns the content with references to the project's images renamed.
func (p Registry) Manifest(content []byte) []byte {
	if !p.Rename {
		return content
	}
	return bytes.ReplaceAll(content, []byte(Repository+"/"+Package), []byte(p.Host+"/"+Package))
}
