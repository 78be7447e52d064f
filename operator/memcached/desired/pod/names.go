package pod

// The names that Read goes by. They are part of released pod templates.
const (
	// MemcachedContainer runs memcached.
	MemcachedContainer = "memcached"
	// CacheVolume holds the items of a warm restart.
	CacheVolume = "cache"
	// CertificatesVolume and UsersVolume mount Secrets.
	CertificatesVolume = "certificates"
	UsersVolume        = "users"
	// VersionAnnotation says which version of memcached is in the image. A later operator may know that image no more, and
	// the user's it never knows.
	VersionAnnotation = "cache.example.com/memcached-version"
)
