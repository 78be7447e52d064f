package operand

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/example/memcached-operator/hack/cluster/internal/images"
)

// Repository is where the official images are.
const Repository = "docker.io/library/memcached"

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

const (
	users  = "root:x:0:0:root:/root:/bin/sh\nmemcache:x:11211:11211:memcache:/nonexistent:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	groups = "root:x:0:\nmemcache:x:11211:\nnogroup:x:65534:\n"
	plain  = 0o644
	sticky = 0o1777
)

// Image describes the stand-in for memcached of the packages' version: the program with exactly the libraries
// that it loads, and a shell for hooks.
func Image(packages []string) (images.Image, error) {
	version, err := Version(packages)
	if err != nil {
		return images.Image{}, err
	}
	files := []images.File{
		{Path: "/bin", Link: "usr/bin"},
		{Path: "/lib", Link: "usr/lib"},
		{Path: "/lib64", Link: "usr/lib64"},
		{Path: "/usr/bin/busybox", Source: "/bin/busybox"},
		{Path: "/etc/passwd", Data: users, Mode: plain},
		{Path: "/etc/group", Data: groups, Mode: plain},
		{Path: "/tmp", Mode: sticky},
	}
	for _, applet := range []string{"sh", "cat", "date", "echo", "env", "kill", "ls", "mkdir", "mv", "nc", "printf", "ps", "rm", "sleep", "stat", "test"} {
		files = append(files, images.File{Path: "/usr/bin/" + applet, Link: "busybox"})
	}
	return images.Image{
		Names:   []string{Repository + ":" + version, Repository + ":" + version + "-alpine"},
		Files:   files,
		Inputs:  packages,
		Load:    func() ([]images.File, error) { return load(packages) },
		User:    "11211:11211",
		Path:    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		Command: []string{"memcached"},
	}, nil
}

// load unpacks the packages and picks what memcached needs.
func load(packages []string) ([]images.File, error) {
	content, err := unpack(packages)
	if err != nil {
		return nil, err
	}
	need, err := content.closure(Program)
	if err != nil {
		return nil, err
	}
	files := make([]images.File, 0, len(need))
	for _, name := range slices.Sorted(maps.Keys(need)) {
		files = append(files, images.File{Path: name, Data: string(need[name])})
	}
	return files, nil
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
