// Package checkout reads the git checkout that a command works on: its root, its commit, its changes and its files. It
// asks git, and writes only to directories that the caller names.
package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Root returns the root of the checkout that contains the working directory: the nearest parent with both go.mod and
// bundle.Dockerfile.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		_, noModule := os.Stat(filepath.Join(dir, "go.mod"))
		_, noBundle := os.Stat(filepath.Join(dir, "bundle.Dockerfile"))
		if noModule == nil && noBundle == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of the memcached operator: change into one", start)
		}
	}
}

// Head is the commit that is checked out.
type Head struct {
	// Commit is the full hash.
	Commit string
	// Date is when it was committed.
	Date time.Time
}

// ReadHead returns the current commit of the checkout at root.
func ReadHead(ctx context.Context, root string) (Head, error) {
	out, err := git(ctx, root, "log", "-1", "--format=%H %cI", "HEAD")
	if err != nil {
		return Head{}, fmt.Errorf("find the current commit of %s (is it a git checkout with at least one commit?): %w", root, err)
	}
	commit, date, _ := strings.Cut(strings.TrimSpace(out), " ")
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return Head{}, fmt.Errorf("read the date of commit %s: %w", commit, err)
	}
	return Head{Commit: commit, Date: at.UTC()}, nil
}

// Changes returns the files that differ from the current commit, untracked ones included, in git's short format.
func Changes(ctx context.Context, root string) ([]string, error) {
	out, err := git(ctx, root, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return nil, fmt.Errorf("compare %s with its commit: %w", root, err)
	}
	var changes []string
	for line := range strings.Lines(out) {
		changes = append(changes, strings.TrimSpace(line))
	}
	return changes, nil
}

// Changed reports whether a file below the paths differs between the commit and the working tree.
func Changed(ctx context.Context, root, commit string, paths ...string) (bool, error) {
	_, err := git(ctx, root, append([]string{"diff", "--quiet", commit, "--"}, paths...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare %s with commit %s: %w", root, commit, err)
	}
	return false, nil
}

// Export writes the files of a commit into dir, which must be empty or absent.
func Export(ctx context.Context, root, commit, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the directory for commit %s: %w", commit, err)
	}
	archive, err := git(ctx, root, "archive", "--format=tar", commit)
	if err != nil {
		return fmt.Errorf("read commit %s (a shallow clone lacks it: run `git fetch --unshallow`): %w", commit, err)
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", dir)
	unpack.Stdin = strings.NewReader(archive)
	if out, err := unpack.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack commit %s into %s: %w: %s", commit, dir, err, bytes.TrimSpace(out))
	}
	return nil
}

// Copy writes the files of the working tree into dir, committed or not. It leaves out the files that git ignores.
func Copy(ctx context.Context, root, dir string) error {
	list, err := git(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", root, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("copy %s of the checkout: %w", name, err)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // The file was deleted, and the deletion is not committed.
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
