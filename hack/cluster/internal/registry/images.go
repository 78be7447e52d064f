package registry

import (
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

// References of the cluster's images. All but Pause are published elsewhere, and replaced here.
const (
	// Pause is the sandbox of every pod.
	Pause = host.Registry + "/memcached-operator/pause:1"
	OLM   = "quay.io/operator-framework/olm:" + build.OLMVersion
	// OPM serves catalogs that are extracted from other images.
	OPM = "quay.io/operator-framework/opm:latest"
	// ubi is the init container of operator-sdk's registry pods.
	ubi = "registry.access.redhat.com/ubi9/ubi:9.7"
	// scorecardUntar and scorecardStorage must be given to the scorecard with --untar-image and --storage-image: its
	// defaults are digests, which only the published images have.
	scorecardUntar   = "quay.io/operator-framework/scorecard-untar:latest"
	scorecardStorage = "quay.io/operator-framework/scorecard-storage:latest"
	// scorecardTest runs the scorecard's built-in tests.
	scorecardTest = "quay.io/operator-framework/scorecard-test:" + build.OperatorSDKVersion
)

const unprivileged = "1001"

// programs places built programs in /bin.
func programs(dir string, names ...string) []File {
	files := make([]File, 0, len(names))
	for _, program := range names {
		files = append(files, File{Path: "/bin/" + program, Source: filepath.Join(dir, program)})
	}
	return files
}

// applets places busybox in a folder, with links to it, and makes /tmp.
func applets(folder string, names ...string) []File {
	files := []File{{Path: folder + "/busybox", Source: "/bin/busybox"}, {Path: "/tmp", Mode: sticky}}
	for _, applet := range names {
		files = append(files, File{Path: folder + "/" + applet, Link: "busybox"})
	}
	return files
}

// PauseImage holds the program pause.
func PauseImage(dir string) Image {
	return Image{
		Names: []string{Pause}, Files: programs(dir, "pause"), Path: "/bin",
		User: "65535:65535", Entrypoint: []string{"/bin/pause"},
	}
}

// OLMImage holds OLM's programs. Its bundle unpack Jobs copy cpb with cp.
func OLMImage(dir string) Image {
	return Image{
		Names: []string{OLM}, Path: "/bin", User: unprivileged, Entrypoint: []string{"/bin/olm"},
		Files: append(programs(dir, "olm", "catalog", "package-server", "copy-content", "cpb"), applets("/bin", "cp")...),
	}
}

// OPMImage holds the catalog server. The label tells operator-sdk that it serves file-based catalogs.
func OPMImage(dir string) Image {
	files := append(programs(dir, "opm"), applets("/bin", "sh", "cp", "cat", "ls", "mkdir")...)
	return Image{
		Names: []string{OPM}, Path: "/bin", User: unprivileged, Entrypoint: []string{"/bin/opm"},
		Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"},
		Files: append(files,
			File{Path: "/bin/grpc_health_probe", Source: filepath.Join(dir, "grpc-health-probe")},
			File{Path: "/etc/nsswitch.conf", Data: "hosts: files dns\n", Mode: plain},
			File{Path: "/configs"},
		),
	}
}

// UtilityImage replaces the images that operator-sdk uses for their shell and archive tools.
func UtilityImage() Image {
	return Image{
		Names: []string{ubi, scorecardUntar, scorecardStorage}, Path: "/bin", Command: []string{"sh"},
		Files: applets("/bin", "sh", "cat", "cp", "echo", "grep", "gunzip", "gzip", "ls", "mkdir", "mv", "rm", "sed", "sleep", "tar", "test", "trap", "true"),
	}
}

// ScorecardTestImage holds the scorecard's built-in tests.
func ScorecardTestImage(dir string) Image {
	return Image{
		Names: []string{scorecardTest}, Path: "/bin", User: unprivileged, Entrypoint: []string{"/bin/scorecard-test"},
		Files: append(programs(dir, "scorecard-test"), applets("/bin", "sh")...),
	}
}
