package stage

import (
	"bytes"
	"strings"

	"github.com/example/memcached-operator/hack/project"
)

// Places says where images are pushed, and by what name manifests refer to them.
type Places struct {
	// Registry is a host, and a path if need be: localhost:5000, registry.example.com/team.
	Registry string
	// Rename makes manifests refer to the images where they are pushed. Without it the registry is a mirror of the
	// official one, and manifests keep the official names.
	Rename bool
}

// Push is the repository to push to, for an official repository such as quay.io/example/memcached-operator.
func (p Places) Push(official string) string {
	if p.Rename {
		return p.Registry + strings.TrimPrefix(official, project.Repository)
	}
	_, path, _ := strings.Cut(official, "/")
	return p.Registry + "/" + path
}

// Refer is the repository that manifests name.
func (p Places) Refer(official string) string {
	if p.Rename {
		return p.Push(official)
	}
	return official
}

// Manifest returns the content with references to the project's images renamed.
func (p Places) Manifest(content []byte) []byte {
	if !p.Rename {
		return content
	}
	return bytes.ReplaceAll(content, []byte(project.Repository+"/"+project.Package), []byte(p.Registry+"/"+project.Package))
}
