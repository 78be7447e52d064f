package registry

import (
	_ "embed" // The configuration is a file, so that nginx itself can check it.
)

// WebServerImage is the image that the sample of an Application names: nginx that serves on port 8080 as a user without
// privileges.
const WebServerImage = "docker.io/nginxinc/nginx-unprivileged:1.29-alpine"

// NginxPackage is the Debian package that the stand-in is made from.
const NginxPackage = "nginx"

// webServerProgram is where nginx is in the image.
const webServerProgram = "/usr/sbin/nginx"

// webServerUser is the user and group that the official image runs nginx as.
const webServerUser = "101"

//go:embed nginx.conf
var webServerConfiguration string

const welcome = `<!DOCTYPE html>
<html lang="en">
<head><title>It works</title></head>
<body><h1>It works</h1><p>A web server from the local cluster's own images.</p></body>
</html>
`

// NginxImage describes the stand-in for WebServerImage. Like the original it writes nowhere but to /tmp, logs to its
// output, and ends the requests under way when it is told to stop.
func NginxImage(packages []string) Image {
	image := withProgram(webServerProgram, packages)
	image.Names = []string{WebServerImage}
	image.Files = append(base("nginx", webServerUser), operandApplets("sh", "cat", "env", "ls", "ps", "sleep")...)
	image.Files = append(image.Files,
		File{Path: "/etc/nginx/nginx.conf", Data: webServerConfiguration, Mode: plain},
		File{Path: "/usr/share/nginx/html/index.html", Data: welcome, Mode: plain},
	)
	image.User = webServerUser + ":" + webServerUser
	image.Command = []string{"nginx", "-g", "daemon off;"}
	// To nginx, SIGTERM means to drop what is under way.
	image.StopSignal = "SIGQUIT"
	return image
}
