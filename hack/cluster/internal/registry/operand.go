package registry

import (
	"maps"
	"slices"

	"github.com/example/memcached-operator/hack/cluster/internal/debian"
)

// operandImage is an image of a program and exactly the libraries that it loads, from Debian packages. The program runs as
// the user of the given name and ID. The image has merged /usr, as the packages expect, and applets of busybox for hooks
// and for people who look inside.
func operandImage(program string, packages []string, user, id string, appletNames ...string) Image {
	return Image{
		User: id + ":" + id,
		Path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", // as in official images
		Files: append([]File{
			{Path: "/bin", Link: "usr/bin"},
			{Path: "/lib", Link: "usr/lib"},
			{Path: "/lib64", Link: "usr/lib64"},
			{Path: "/etc/passwd", Mode: plain, Data: "root:x:0:0:root:/root:/bin/sh\n" +
				user + ":x:" + id + ":" + id + ":" + user + ":/nonexistent:/usr/sbin/nologin\n" +
				"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
			{Path: "/etc/group", Mode: plain, Data: "root:x:0:\n" + user + ":x:" + id + ":\nnogroup:x:65534:\n"},
		}, applets("/usr/bin", appletNames...)...),
		Inputs: packages,
		Load: func() ([]File, error) {
			content, err := debian.ProgramFiles(packages, program)
			var files []File
			for _, name := range slices.Sorted(maps.Keys(content)) {
				files = append(files, File{Path: name, Data: string(content[name])})
			}
			return files, err
		},
	}
}
