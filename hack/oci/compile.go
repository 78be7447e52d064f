package oci

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// goEnvironment fixes everything in the environment that changes what the compiler writes.
var goEnvironment = []string{
	"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOFIPS140=off",
	"GOWORK=off",
}

// Compile writes a program that depends on its source, its modules and the toolchain, not on where or when it is
// compiled.
func Compile(ctx context.Context, root, pkg, output, version string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
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
