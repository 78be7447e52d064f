// Package layout says where things live: the folders of the checkout and of the cache,
// and the addresses and names of the local cluster. It does nothing but name them.
package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Layout holds the two roots that every other path hangs from.
type Layout struct {
	// Repo is the root of the checkout.
	Repo string
	// Cache is the folder outside the checkout that holds tools and cluster state.
	Cache string
}

// maxCachePath keeps the unix sockets below the cluster's folder under the kernel's limit of 107 bytes.
const maxCachePath = 60

// Find locates the checkout from the working folder upwards and the cache from XDG_CACHE_HOME
// (default ~/.cache). It creates nothing.
func Find() (Layout, error) {
	repo, err := findRepo()
	if err != nil {
		return Layout{}, err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return Layout{}, fmt.Errorf("no cache folder: set HOME or XDG_CACHE_HOME: %w", err)
	}
	cache := filepath.Join(base, "memcached-operator")
	if len(cache) > maxCachePath {
		return Layout{}, fmt.Errorf("the cache folder %s is longer than %d characters, too long for unix sockets below it: set XDG_CACHE_HOME to a shorter path", cache, maxCachePath)
	}
	return Layout{Repo: repo, Cache: cache}, nil
}

// findRepo walks up from the working folder to the folder that holds hack/tools.
func findRepo() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("read the working folder: %w", err)
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "hack", "tools", "kube", "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for the checkout: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no hack/tools/kube/go.mod in %s or above it: run from inside the checkout", start)
		}
	}
}

// Tools is the folder with one Go module per tool.
func (l Layout) Tools() string { return filepath.Join(l.Repo, "hack", "tools") }

// Bin is the folder that built tools are kept in.
func (l Layout) Bin() string { return filepath.Join(l.Cache, "bin") }

// Cluster is the folder with all state of the local cluster, or a path below it.
func (l Layout) Cluster(parts ...string) string {
	return filepath.Join(append([]string{l.Cache, "cluster"}, parts...)...)
}

// Kubeconfig is the administrator's kubeconfig.
func (l Layout) Kubeconfig() string { return l.Cluster("admin.kubeconfig") }

// PKI is a file of the cluster's own certificate authority.
func (l Layout) PKI(name string) string { return l.Cluster("pki", name) }

// TrustBundle is the file with the system's certificate authorities and the cluster's own.
func (l Layout) TrustBundle() string { return l.PKI("bundle.crt") }

// ContainerdSocket is the unix socket of the cluster's containerd.
func (l Layout) ContainerdSocket() string { return l.Cluster("run", "containerd.sock") }

// OperandMap is the JSON file that maps official memcached images to their local stand-ins.
func (l Layout) OperandMap() string { return l.Cluster("images.json") }

// CNI is the folder with the pod network's configuration and address leases.
func (l Layout) CNI(parts ...string) string { return l.Cluster(append([]string{"cni"}, parts...)...) }
