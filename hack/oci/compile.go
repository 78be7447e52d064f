package oci

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// goEnvironment sets every environment variable that changes the output of the compiler.
var goEnvironment = []string{
	"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOFIPS140=off",
	"GOWORK=off",
}

// Compile compiles the program of a package, with build tags, to the file output, for Linux on amd64. pkg is relative to root. The
// program depends only on its source, its modules and the toolchain, and not on the place or time of the compilation.
func Compile(ctx context.Context, root, pkg, output, version string, tags ...string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", strings.Join(tags, ","),
		"-ldflags", "-s -w -buildid= -X main.version="+version, "-o", output, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), goEnvironment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", pkg, err, strings.TrimSpace(stderr.String()))
	}
	return nil
}
