package registry

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"
)

// Repository is where the official memcached images are.
const Repository = "docker.io/library/memcached"

// MemcachedPackage is the Debian package that the stand-ins are made from.
const MemcachedPackage = "memcached"

// Program is where memcached is in the image.
const Program = "/usr/bin/memcached"

// Official images that released manifests name, by the digests of the official image's published records.
const (
	official1618 = Repository + "@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"
	official1645 = Repository + "@sha256:c29847751abb41f4c268c84fb3087fee05d4edcbda44409ccb5086e26148e8a7"
)

// firstVersion is the version that the first official digest stands for.
const firstVersion = "1.6.18"

// packageFile is how Debian names a package's file: name_version-revision_architecture.
var packageFile = regexp.MustCompile(`^memcached_(\d+\.\d+\.\d+)\S*_\S+\.deb$`)

// Version reads memcached's version from the names of downloaded packages.
func Version(packages []string) (string, error) {
	for _, file := range packages {
		if found := packageFile.FindStringSubmatch(filepath.Base(file)); found != nil {
			return found[1], nil
		}
	}
	return "", fmt.Errorf("no memcached package among %v", packages)
}

// userID is the user and group that the official images run memcached as.
const userID = "11211"

// MemcachedImage describes the stand-in for memcached of the packages' version: the program with exactly the libraries
// that it loads, and a shell for hooks.
func MemcachedImage(packages []string) (Image, error) {
	version, err := Version(packages)
	if err != nil {
		return Image{}, err
	}
	image := withProgram(Program, packages)
	image.Names = []string{Repository + ":" + version, Repository + ":" + version + "-alpine"}
	image.Files = append(base("memcache", userID), operandApplets("sh", "cat", "date", "echo", "env", "kill", "ls", "mkdir", "mv",
		"nc", "printf", "ps", "rm", "sleep", "stat", "test")...)
	image.User = userID + ":" + userID
	image.Command = []string{"memcached"}
	return image, nil
}

// Map maps the official images to their stand-ins, given the digests of the images built, by version.
func Map(digests map[string]string) (map[string]string, error) {
	first, ok := digests[firstVersion]
	if !ok {
		return nil, fmt.Errorf("there is no image of memcached %s, only of %v: its Debian release now has another version", firstVersion, slices.Sorted(maps.Keys(digests)))
	}
	return map[string]string{
		official1618: Repository + "@" + first,
		official1645: Repository + "@" + digests[newest(slices.Collect(maps.Keys(digests)))],
	}, nil
}

// newest returns the highest of dotted versions.
func newest(versions []string) string {
	return slices.MaxFunc(versions, func(a, b string) int { return semver.Compare("v"+a, "v"+b) })
}
