package registry

import (
	_ "embed" // The configuration is a file of its own, so that nginx itself can check it.
)

// NginxPackage is the Debian package of nginx.
const NginxPackage = "nginx"

//go:embed nginx.conf
var nginxConfiguration string

const welcome = `<!DOCTYPE html>
<html lang="en">
<head><title>It works</title></head>
<body><h1>It works</h1><p>A web server from the local cluster's own images.</p></body>
</html>
`

// NginxImage replaces the image that the sample of an Application names: nginx that serves on port 8080 as an unprivileged
// user. Like the original it writes only to /tmp, logs to its output, and completes running requests when it is stopped.
func NginxImage(packages []string) Image {
	image := operandImage(packages, "nginx", "101", "sh", "cat", "env", "ls", "ps", "sleep")
	image.Names = []string{"docker.io/nginxinc/nginx-unprivileged:1.29-alpine"}
	image.Files = append(image.Files,
		File{Path: "/etc/nginx/nginx.conf", Data: nginxConfiguration, Mode: plain},
		File{Path: "/usr/share/nginx/html/index.html", Data: welcome, Mode: plain},
	)
	image.Command = []string{"nginx", "-g", "daemon off;"}
	image.StopSignal = "SIGQUIT" // at SIGTERM, nginx drops running requests
	return image
}
