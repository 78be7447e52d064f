// Package host describes and prepares the machine that the cluster runs on: the folders of the checkout and of the cache,
// the cluster's addresses, the checks before a start, and the network. It runs no component of the cluster.
package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Layout holds the two folders that all others are in.
type Layout struct {
	// Repo is the root of the checkout.
	Repo string
	// Cache is the folder outside the checkout for tools and cluster state.
	Cache string
}

// Find locates the checkout, which is the working folder or above it, and the cache, which is below XDG_CACHE_HOME
// (default: ~/.cache). It creates nothing.
func Find() (Layout, error) {
	repo, err := findRepo()
	if err != nil {
		return Layout{}, err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return Layout{}, fmt.Errorf("no cache folder: set HOME or XDG_CACHE_HOME: %w", err)
	}
	// Paths of unix sockets are limited to 107 bytes.
	const maxLength = 60
	cache := filepath.Join(base, "memcached-operator")
	if len(cache) > maxLength {
		return Layout{}, fmt.Errorf("the cache folder %s is longer than %d characters, too long for unix sockets in it: set XDG_CACHE_HOME to a shorter path", cache, maxLength)
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

// Bin is the folder for built and unpacked tools.
func (l Layout) Bin() string { return filepath.Join(l.Cache, "bin") }

// Cluster is the folder with all state of the local cluster, or a path in it.
func (l Layout) Cluster(parts ...string) string {
	return filepath.Join(append([]string{l.Cache, "cluster"}, parts...)...)
}

// Kubeconfig is the administrator's kubeconfig.
func (l Layout) Kubeconfig() string { return l.Cluster("admin.kubeconfig") }

// PKI is a file of the cluster's certificate authority.
func (l Layout) PKI(name string) string { return l.Cluster("pki", name) }

// TrustBundle is the file with the certificates of the system's authorities and of the cluster's.
func (l Layout) TrustBundle() string { return l.PKI("bundle.crt") }
