package registry

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"
)

// memcachedRepository is the repository of the official memcached images.
const memcachedRepository = "docker.io/library/memcached"

// Official images that released manifests name, by the digests that the official image publishes.
const (
	official1618 = memcachedRepository + "@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"
	official1645 = memcachedRepository + "@sha256:c29847751abb41f4c268c84fb3087fee05d4edcbda44409ccb5086e26148e8a7"
)

// firstVersion is the version of the first official digest.
const firstVersion = "1.6.18"

// packageFile is the name of a package's file in Debian: name_version-revision_architecture.
var packageFile = regexp.MustCompile(`^memcached_(\d+\.\d+\.\d+)\S*_\S+\.deb$`)

// MemcachedVersion reads memcached's version from the names of downloaded packages.
func MemcachedVersion(packages []string) (string, error) {
	for _, file := range packages {
		if found := packageFile.FindStringSubmatch(filepath.Base(file)); found != nil {
			return found[1], nil
		}
	}
	return "", fmt.Errorf("no memcached package among %v", packages)
}

// MemcachedImage replaces the official memcached image of the packages' version. It runs as the same user.
func MemcachedImage(packages []string) (Image, error) {
	version, err := MemcachedVersion(packages)
	if err != nil {
		return Image{}, err
	}
	image := operandImage(packages, "memcache", "11211", "sh", "cat", "date", "echo", "env", "kill",
		"ls", "mkdir", "mv", "nc", "printf", "ps", "rm", "sleep", "stat", "test")
	image.Names = []string{memcachedRepository + ":" + version, memcachedRepository + ":" + version + "-alpine"}
	image.Command = []string{"memcached"}
	return image, nil
}

// MemcachedReplacements maps the official images to the local ones that replace them, given the digests of the local images
// by version.
func MemcachedReplacements(digests map[string]string) (map[string]string, error) {
	versions := slices.Collect(maps.Keys(digests))
	slices.SortFunc(versions, func(a, b string) int { return semver.Compare("v"+a, "v"+b) })
	if !slices.Contains(versions, firstVersion) {
		return nil, fmt.Errorf("there is no image of memcached %s, only of %v: its Debian release now has another version", firstVersion, versions)
	}
	return map[string]string{
		official1618: memcachedRepository + "@" + digests[firstVersion],
		official1645: memcachedRepository + "@" + digests[versions[len(versions)-1]],
	}, nil
}
