package registry

import (
	"maps"
	"slices"

	"github.com/example/memcached-operator/hack/cluster/internal/debian"
)

// searchPath is what official images search for programs.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// base is what every image has: the merged layout that Debian's packages expect, the user that the program runs as, and
// a folder for passing files.
func base(user, id string) []File {
	return []File{
		{Path: "/bin", Link: "usr/bin"},
		{Path: "/lib", Link: "usr/lib"},
		{Path: "/lib64", Link: "usr/lib64"},
		{Path: "/etc/passwd", Mode: plain, Data: "root:x:0:0:root:/root:/bin/sh\n" +
			user + ":x:" + id + ":" + id + ":" + user + ":/nonexistent:/usr/sbin/nologin\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
		{Path: "/etc/group", Mode: plain, Data: "root:x:0:\n" + user + ":x:" + id + ":\nnogroup:x:65534:\n"},
		{Path: "/tmp", Mode: sticky},
	}
}

// operandApplets are busybox under the given names, for hooks and for people who look inside.
func operandApplets(names ...string) []File {
	files := []File{{Path: "/usr/bin/busybox", Source: "/bin/busybox"}}
	for _, applet := range names {
		files = append(files, File{Path: "/usr/bin/" + applet, Link: "busybox"})
	}
	return files
}

// withProgram begins an image of a program out of packages, with exactly the libraries that it loads.
func withProgram(program string, packages []string) Image {
	return Image{
		Inputs: packages,
		Load:   func() ([]File, error) { return load(packages, program) },
		Path:   searchPath,
	}
}

// load unpacks the packages and picks what the program needs.
func load(packages []string, program string) ([]File, error) {
	need, err := debian.ProgramFiles(packages, program)
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(need))
	for _, name := range slices.Sorted(maps.Keys(need)) {
		files = append(files, File{Path: name, Data: string(need[name])})
	}
	return files, nil
}
