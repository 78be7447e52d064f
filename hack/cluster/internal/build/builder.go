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
	"time"
)

// Builder builds tools into a folder.
type Builder struct {
	// Tools is the folder with the tools' modules.
	Tools string
	// Bin is the folder that holds one folder per tool and version.
	Bin string
}

// Dir returns the folder that the tool's programs are in once it is built.
func (b Builder) Dir(t Tool) (string, error) {
	key, err := b.key(t)
	if err != nil {
		return "", err
	}
	return filepath.Join(b.Bin, t.Module+"-"+key), nil
}

// Missing tells whether the tool is still to be built.
func (b Builder) Missing(t Tool) (bool, error) {
	dir, err := b.Dir(t)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", t.Module, err)
	}
	return false, nil
}

// Ensure builds the tool unless it is there.
// Its folder appears with all of its programs at once, so an interrupted build leaves none.
func (b Builder) Ensure(ctx context.Context, t Tool) error {
	dir, err := b.Dir(t)
	if err != nil {
		return err
	}
	missing, err := b.Missing(t)
	if err != nil || !missing {
		return err
	}
	if err := os.MkdirAll(b.Bin, 0o755); err != nil {
		return fmt.Errorf("make the folder for tools: %w", err)
	}
	b.removeAbandoned()
	temporary, err := os.MkdirTemp(b.Bin, ".building-"+t.Module+"-")
	if err != nil {
		return fmt.Errorf("make a folder to build %s in: %w", t.Module, err)
	}
	defer os.RemoveAll(temporary)
	if err := b.compile(ctx, t, temporary); err != nil {
		return err
	}
	for _, link := range t.Links {
		if err := os.Symlink(t.Module, filepath.Join(temporary, link)); err != nil {
			return fmt.Errorf("link %s: %w", link, err)
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("open up %s: %w", temporary, err)
	}
	if err := os.Rename(temporary, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep the build of %s: %w", t.Module, err)
	}
	return nil
}

// removeAbandoned deletes what builds that were killed left behind. One that may still be at work is left alone.
func (b Builder) removeAbandoned() {
	const old = time.Hour
	folders, err := filepath.Glob(filepath.Join(b.Bin, ".building-*"))
	if err != nil {
		return // the pattern is good: it cannot fail
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > old {
			_ = os.RemoveAll(folder) // it only takes space
		}
	}
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
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("build %s in %s: %w:\n%s", t.Module, cmd.Dir, err, tail(stderr.String()))
	}
	return nil
}

// tail keeps the end of a compiler's output, where the reason is.
func tail(output string) string {
	const most = 15
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// key hashes everything that decides what comes out of the build: the module's files, the flags and the compiler.
func (b Builder) key(t Tool) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, t.Packages, t.Links, t.Tags, t.LDFlags)
	files, err := os.ReadDir(filepath.Join(b.Tools, t.Module))
	if err != nil {
		return "", fmt.Errorf("read the module of %s: %w", t.Module, err)
	}
	for _, file := range files {
		if file.IsDir() || !strings.HasSuffix(file.Name(), ".go") && !strings.HasPrefix(file.Name(), "go.") {
			continue
		}
		if err := hashFile(hash, filepath.Join(b.Tools, t.Module, file.Name())); err != nil {
			return "", err
		}
	}
	const length = 12
	return hex.EncodeToString(hash.Sum(nil))[:length], nil
}

func hashFile(hash io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	fmt.Fprintln(hash, filepath.Base(path), len(data))
	_, err = hash.Write(data)
	return err
}

// ModuleDir returns the folder in the module cache that holds a module which the tool requires, fetching it if need be.
func (b Builder) ModuleDir(ctx context.Context, t Tool, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(b.Tools, t.Module)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s for %s: %w: %s", module, t.Module, err, bytes.TrimSpace(output))
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(output, &found); err != nil {
		return "", fmt.Errorf("read what go says of module %s: %w", module, err)
	}
	return found.Dir, nil
}
