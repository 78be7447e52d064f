package api

const (
	// AgentContainer is the name of the container that runs the agent.
	AgentContainer = "agent"

	// MetricsPort is the TCP port that the agent listens on: the one that memcached_exporter is known for.
	MetricsPort = 9150

	// MetricsPortName is the name of MetricsPort in the pod and its Services.
	MetricsPortName = "metrics"

	// CacheMemoryAnnotation tells the agent how much memory items may take, in MiB. It can be changed on a running pod,
	// memcached's arguments cannot.
	CacheMemoryAnnotation = "cache.example.com/cache-memory"
)
