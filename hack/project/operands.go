package project

import "strings"

const (
	// OperandRepository is the repository of the official memcached images.
	OperandRepository = "docker.io/library/memcached"
	// OperandEnvPrefix begins the environment variables that tell the manager which versions of memcached it knows, each
	// with its image: RELATED_IMAGE_MEMCACHED_1_6_45. The prefix RELATED_IMAGE_ makes OLM's tooling mirror the image.
	OperandEnvPrefix = "RELATED_IMAGE_MEMCACHED_"
	// DefaultOperandEnv is the environment variable that tells the manager which of these versions caches run unless
	// their spec says otherwise.
	DefaultOperandEnv = "MEMCACHED_VERSION"
	// DefaultOperand is that version.
	DefaultOperand = "1.6.45"
	// AgentEnv is the environment variable that tells the manager the image of what runs beside memcached: its own.
	AgentEnv = "AGENT_IMAGE"
)

// Operand is a version of memcached that caches can run.
type Operand struct {
	// Version is memcached's version, for example 1.6.45.
	Version string
	// Image is the reference by digest of the official image: that of the index of its -alpine tag.
	Image string
}

// Operands are the versions of memcached that the version under development knows, oldest first. Those that an earlier
// release ran stay, because caches run them until an update of theirs is released.
func Operands() []Operand {
	return []Operand{
		{"1.6.18", OperandRepository + "@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"},
		{DefaultOperand, OperandRepository + "@sha256:c29847751abb41f4c268c84fb3087fee05d4edcbda44409ccb5086e26148e8a7"},
	}
}

// Env is the environment variable that names the image.
func (o Operand) Env() string {
	return OperandEnvPrefix + strings.ReplaceAll(o.Version, ".", "_")
}

// RelatedName is the name that a ClusterServiceVersion lists the image under.
func (o Operand) RelatedName() string {
	return "memcached-" + o.Version
}
