package project

import (
	"bytes"
	"strings"
)

// Staged is the content of stage.json: the images that `hack/release stage` pushed, as manifests refer to them.
type Staged struct {
	// CatalogImage is a reference by digest. CatalogTag is the reference by tag that olm/20-catalogsource.yaml names.
	CatalogImage string `json:"catalogImage"`
	CatalogTag   string `json:"catalogTag"`
	// Versions are in the order of their release. The version under development comes last.
	Versions []StagedVersion `json:"versions"`
	// Operands are the stand-ins that replaced official memcached images.
	Operands StandIns `json:"operands"`
}

// StagedVersion holds the images of a version, as references by digest. Those of programs are empty if they were left out.
type StagedVersion struct {
	Version        string `json:"version"`
	Released       bool   `json:"released"`
	OperatorImage  string `json:"operatorImage"`
	ScorecardImage string `json:"scorecardImage"`
	BundleImage    string `json:"bundleImage"`
}

// Registry says where images are pushed, and how manifests refer to them.
type Registry struct {
	// Host is a host and an optional path: localhost:5000, registry.example.com/team.
	Host string
	// Rename makes manifests refer to the images where they are pushed. Without it, the registry mirrors the official
	// one and manifests keep the official names.
	Rename bool
}

// Push returns the repository to push to, for an official repository such as quay.io/example/memcached-operator.
func (r Registry) Push(official string) string {
	if r.Rename {
		return r.Host + strings.TrimPrefix(official, Repository)
	}
	_, path, _ := strings.Cut(official, "/")
	return r.Host + "/" + path
}

// Refer returns the repository that manifests name, for an official repository.
func (r Registry) Refer(official string) string {
	if r.Rename {
		return r.Push(official)
	}
	return official
}

// Manifest returns the content with the references to the project's images renamed.
func (r Registry) Manifest(content []byte) []byte {
	if !r.Rename {
		return content
	}
	return bytes.ReplaceAll(content, []byte(Repository+"/"+Package), []byte(r.Host+"/"+Package))
}
