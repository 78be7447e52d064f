package registry

import (
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/node"
)

// References of the images that stand in for published ones.
const (
	OLM = "quay.io/operator-framework/olm:" + build.OLMVersion
	// OPM serves catalogs whose content is extracted from another image.
	OPM = "quay.io/operator-framework/opm:latest"
	// UBI is the init container of operator-sdk's registry pods.
	UBI = "registry.access.redhat.com/ubi9/ubi:9.7"
	// ScorecardUntar and ScorecardStorage are to be named with --untar-image and --storage-image:
	// the scorecard names its own by digest, which no stand-in can have.
	ScorecardUntar   = "quay.io/operator-framework/scorecard-untar:latest"
	ScorecardStorage = "quay.io/operator-framework/scorecard-storage:latest"
	// ScorecardTest runs the scorecard's built-in tests.
	ScorecardTest = "quay.io/operator-framework/scorecard-test:" + build.OperatorSDKVersion
)

const (
	busybox = "/bin/busybox"
	nobody  = "1001"
)

// programs places built programs in /bin.
func programs(dir string, names ...string) []File {
	files := make([]File, 0, len(names))
	for _, program := range names {
		files = append(files, File{Path: "/bin/" + program, Source: filepath.Join(dir, program)})
	}
	return files
}

// applets adds busybox and links to it under the given names.
func applets(names ...string) []File {
	files := []File{{Path: busybox, Source: busybox}, {Path: "/tmp", Mode: sticky}}
	for _, applet := range names {
		files = append(files, File{Path: "/bin/" + applet, Link: "busybox"})
	}
	return files
}

// PauseImage is the sandbox of every pod.
func PauseImage(dir string) Image {
	return Image{
		Names: []string{node.PauseImage}, Files: programs(dir, "pause"), Path: "/bin",
		User: "65535:65535", Entrypoint: []string{"/bin/pause"},
	}
}

// OLMImage holds OLM's programs; cp is what its bundle unpack Jobs copy cpb with.
func OLMImage(dir string) Image {
	return Image{
		Names: []string{OLM}, Path: "/bin", User: nobody, Entrypoint: []string{"/bin/olm"},
		Files: append(programs(dir, "olm", "catalog", "package-server", "copy-content", "cpb"), applets("cp")...),
	}
}

// OPMImage serves catalogs. The label tells operator-sdk that it serves file-based ones.
func OPMImage(dir string) Image {
	files := append(programs(dir, "opm"), applets("sh", "cp", "cat", "ls", "mkdir")...)
	return Image{
		Names: []string{OPM}, Path: "/bin", User: nobody, Entrypoint: []string{"/bin/opm"},
		Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"},
		Files: append(files,
			File{Path: "/bin/grpc_health_probe", Source: filepath.Join(dir, "grpc-health-probe")},
			File{Path: "/etc/nsswitch.conf", Data: "hosts: files dns\n", Mode: plain},
			File{Path: "/configs"},
		),
	}
}

// UtilityImage stands in for the images that operator-sdk uses for their shell and archive tools.
func UtilityImage() Image {
	return Image{
		Names: []string{UBI, ScorecardUntar, ScorecardStorage}, Path: "/bin", Command: []string{"sh"},
		Files: applets("sh", "cat", "cp", "echo", "grep", "gunzip", "gzip", "ls", "mkdir", "mv", "rm", "sed", "sleep", "tar", "test", "trap", "true"),
	}
}

// ScorecardTestImage holds the scorecard's built-in tests.
func ScorecardTestImage(dir string) Image {
	return Image{
		Names: []string{ScorecardTest}, Path: "/bin", User: nobody, Entrypoint: []string{"/bin/scorecard-test"},
		Files: append(programs(dir, "scorecard-test"), applets("sh")...),
	}
}
