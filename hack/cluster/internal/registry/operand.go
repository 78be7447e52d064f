package registry

// operandImage is an image of the program in Debian packages, with its libraries. It runs as the user of the given name and
// ID. The image has merged /usr where the packages leave it so, and applets of busybox for hooks and for people who look
// inside.
func operandImage(packages []string, user, id string, appletNames ...string) Image {
	return Image{
		User: id + ":" + id,
		Path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", // as in official images
		Files: append([]File{
			{Path: "/bin", Link: "usr/bin"},
			// A package of bookworm or older, which has files in /lib and /lib64, replaces these two by folders.
			{Path: "/lib", Link: "usr/lib"},
			{Path: "/lib64", Link: "usr/lib64"},
			{Path: "/etc/passwd", Mode: plain, Data: "root:x:0:0:root:/root:/bin/sh\n" +
				user + ":x:" + id + ":" + id + ":" + user + ":/nonexistent:/usr/sbin/nologin\n" +
				"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
			{Path: "/etc/group", Mode: plain, Data: "root:x:0:\n" + user + ":x:" + id + ":\nnogroup:x:65534:\n"},
		}, applets("/usr/bin", appletNames...)...),
		Packages: packages,
	}
}
