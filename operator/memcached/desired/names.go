package desired

// The suffixes of objects that do not have the name of their cache. A released name never changes, because clients use it.
// The longest name of a cache leaves room for each suffix in the 63 characters of a Service's name.
const (
	// serviceSuffix leaves the name of the cache itself free: people run `kubectl expose deployment`, which takes it.
	serviceSuffix = "-nodes"

	bindingSuffix = "-binding"
)

// ServiceName returns the name of the headless Service of a cache.
func ServiceName(cache string) string { return cache + serviceSuffix }

// BindingName returns the name of the Secret that tells clients how to reach a cache.
func BindingName(cache string) string { return cache + bindingSuffix }

// Host returns the DNS name that resolves to the addresses of all pods of a cache, from within the cluster. It leaves out
// the cluster's own domain, which is not known here and which the resolver of every pod adds.
func Host(namespace, cache string) string { return ServiceName(cache) + "." + namespace + ".svc" }
