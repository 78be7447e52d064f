package project

import "strings"

const (
	// OperandRepository is the repository of the official memcached images.
	OperandRepository = "docker.io/library/memcached"
	// DefaultOperandEnv is the environment variable that tells the operator the version of memcached for caches whose
	// spec names none.
	DefaultOperandEnv = "MEMCACHED_VERSION"
	// DefaultOperand is that version.
	DefaultOperand = "1.6.45"
	// AgentEnv is the environment variable that tells the operator the image of the agent: its own.
	AgentEnv = "AGENT_IMAGE"
)

// Operand is a version of memcached that caches can run.
type Operand struct {
	// Version is memcached's version, for example 1.6.45.
	Version string
	// Image is the official image by digest: the index of its -alpine tag.
	Image string
}

// Operands are the versions of memcached that the version under development offers, oldest first. Versions of earlier
// releases stay: caches run them until their update is approved.
func Operands() []Operand {
	return []Operand{
		{"1.6.18", OperandRepository + "@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"},
		{DefaultOperand, OperandRepository + "@sha256:c29847751abb41f4c268c84fb3087fee05d4edcbda44409ccb5086e26148e8a7"},
	}
}

// Env is the environment variable that tells the operator the image, for example RELATED_IMAGE_MEMCACHED_1_6_45. OLM's
// tooling mirrors the images of variables that begin with RELATED_IMAGE_.
func (o Operand) Env() string {
	return "RELATED_IMAGE_MEMCACHED_" + strings.ReplaceAll(o.Version, ".", "_")
}

// RelatedName is the name of the image among the related images of a ClusterServiceVersion.
func (o Operand) RelatedName() string { return "memcached-" + o.Version }
