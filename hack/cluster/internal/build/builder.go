package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Builder builds tools into a folder.
type Builder struct {
	// Tools is the folder with the tools' modules.
	Tools string
	// Bin is the folder with one folder per tool and version.
	Bin string
}

// Dir returns the folder of the tool's programs, built or not. Its name holds a hash of everything that goes into the
// build: the module's files, the flags and the compiler.
func (b Builder) Dir(t Tool) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, t.Packages, t.Links, t.Tags, t.LDFlags)
	folders := []string{"."}
	for _, pkg := range t.Packages {
		if strings.HasPrefix(pkg, "./") { // Others are of modules that go.mod and go.sum pin.
			folders = append(folders, pkg)
		}
	}
	for _, folder := range folders {
		if err := hashFiles(hash, filepath.Join(b.Tools, t.Module, folder)); err != nil {
			return "", fmt.Errorf("read the module of %s: %w", t.Module, err)
		}
	}
	const length = 12
	return filepath.Join(b.Bin, t.Module+"-"+hex.EncodeToString(hash.Sum(nil))[:length]), nil
}

// hashFiles adds the Go files, go.mod and go.sum of a folder.
func hashFiles(hash io.Writer, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.IsDir() || !strings.HasSuffix(file.Name(), ".go") && !strings.HasPrefix(file.Name(), "go.") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintln(hash, file.Name(), len(data))
		if _, err := hash.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// Missing reports whether the tool has yet to be built.
func (b Builder) Missing(t Tool) (bool, error) {
	dir, err := b.Dir(t)
	if err != nil {
		return false, err
	}
	if _, err = os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// Build builds the tool.
func (b Builder) Build(ctx context.Context, t Tool) error {
	dir, err := b.Dir(t)
	if err != nil {
		return err
	}
	return host.MakeDir(dir, func(temporary string) error {
		if err := b.compile(ctx, t, temporary); err != nil {
			return err
		}
		for _, link := range t.Links {
			if err := os.Symlink(t.Module, filepath.Join(temporary, link)); err != nil {
				return fmt.Errorf("link %s: %w", link, err)
			}
		}
		return nil
	})
}

// compile runs go build for all of the tool's packages.
func (b Builder) compile(ctx context.Context, t Tool, into string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=" + t.LDFlags, "-o", into + "/"}
	if t.Tags != "" {
		args = append(args, "-tags="+t.Tags)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, t.Packages...)...)
	cmd.Dir = filepath.Join(b.Tools, t.Module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if _, err := process.Run(cmd); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("build %s in %s: %w", t.Module, cmd.Dir, err)
	}
	return nil
}

// ModuleDir returns the folder in the module cache of a module that the tool requires, and downloads it if necessary.
func (b Builder) ModuleDir(ctx context.Context, t Tool, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(b.Tools, t.Module)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	output, err := cmd.Output() // errors are part of it
	if err != nil {
		return "", fmt.Errorf("find module %s for %s: %w: %s", module, t.Module, err, bytes.TrimSpace(output))
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(output, &found); err != nil {
		return "", fmt.Errorf("read the output of go mod download for %s: %w", module, err)
	}
	return found.Dir, nil
}
