// Package checkout knows the git checkout that a program works on: where its root is, which commit it is at, and how
// to get the files of another commit. It asks git and changes nothing in the checkout itself.
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

// Root returns the root of the checkout that the working directory is in: the nearest directory upwards that holds
// both go.mod and bundle.Dockerfile.
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

// Head is the commit that the checkout is at.
type Head struct {
	// Commit is its full hash.
	Commit string
	// Date is when it was committed.
	Date time.Time
}

// ReadHead returns the commit that the checkout at root is at.
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

// Changes returns the files that differ from the current commit, untracked ones included, as git prints them.
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

// Changed says whether anything below the given paths differs between a commit and what is on disk now.
func Changed(ctx context.Context, root, commit string, paths ...string) (bool, error) {
	args := append([]string{"diff", "--quiet", commit, "--"}, paths...)
	_, err := git(ctx, root, args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare %s with commit %s: %w", root, commit, err)
	}
	return false, nil
}

// Export writes the files of a commit into dir, which must be empty or absent. Nothing is registered in the
// repository, so there is nothing to clean up there.
func Export(ctx context.Context, root, commit, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make room for commit %s: %w", commit, err)
	}
	archive := exec.CommandContext(ctx, "git", "-C", root, "archive", "--format=tar", commit)
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", dir)
	var archiveErr, unpackErr bytes.Buffer
	archive.Stderr, unpack.Stderr = &archiveErr, &unpackErr
	pipe, err := archive.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect git archive to tar: %w", err)
	}
	unpack.Stdin = pipe
	if err := archive.Start(); err != nil {
		return fmt.Errorf("start git archive: %w", err)
	}
	unpacked := unpack.Run()
	if err := archive.Wait(); err != nil {
		return fmt.Errorf("commit %s cannot be read (a shallow clone lacks it: run `git fetch --unshallow`): %w: %s",
			commit, err, strings.TrimSpace(archiveErr.String()))
	}
	if unpacked != nil {
		return fmt.Errorf("unpack commit %s into %s: %w: %s", commit, dir, unpacked, strings.TrimSpace(unpackErr.String()))
	}
	return nil
}

// Copy writes the files of the checkout as they are now, committed or not, into dir. What git ignores is left out.
func Copy(ctx context.Context, root, dir string) error {
	list, err := git(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", root, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Deleted, and the deletion not committed yet.
	}
	if err != nil {
		return fmt.Errorf("copy a file of the checkout: %w", err)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy a file of the checkout: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copy a file of the checkout: %w", err)
	}
	if err := os.WriteFile(to, content, info.Mode().Perm()); err != nil {
		return fmt.Errorf("copy a file of the checkout: %w", err)
	}
	return nil
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
