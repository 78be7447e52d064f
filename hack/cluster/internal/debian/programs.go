package debian

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Programs is a Debian package whose programs are run on this machine itself, with the machine's own libraries. It is
// unpacked, not installed: it starts no service and needs no root.
type Programs struct {
	// Package is the name of the package.
	Package string
	// Names are the programs to run, or the modules to import, all in Folder.
	Names []string
	// Folder is where they are in the package.
	Folder string
	// WithLibraries says that what the package depends on is unpacked with it: the machine need not have it.
	WithLibraries bool
}

// Monitoring is Prometheus, which scrapes in tests, and promtool, which tests alert rules.
var Monitoring = Programs{Package: "prometheus", Names: []string{"prometheus", "promtool"}, Folder: "usr/bin"}

// PythonClient is a memcached client that many programs in Python use, for the machine's own Python.
var PythonClient = Programs{
	Package: "python3-pymemcache", Names: []string{"pymemcache"}, Folder: "usr/lib/python3/dist-packages", WithLibraries: true,
}

// Memcached is what tests run. It comes out of the packages of several releases, so it needs the libraries of its own.
var Memcached = Programs{Package: "memcached", Names: []string{"memcached"}, Folder: "usr/bin", WithLibraries: true}

// packaged are all packages of the machine's own release that programs are taken from.
var packaged = []Programs{Monitoring, PythonClient}

// Packaged returns the package that holds the named program, and whether there is one.
func Packaged(program string) (Programs, bool) {
	for _, programs := range packaged {
		if slices.Contains(programs.Names, program) {
			return programs, true
		}
	}
	return Programs{}, false
}

// PackagedNames are the names that Packaged knows.
func PackagedNames() []string {
	var names []string
	for _, programs := range packaged {
		names = append(names, programs.Names...)
	}
	return names
}

// Dir is where the programs are, in the folder that Unpack filled.
func (p Programs) Dir(root string) string { return filepath.Join(root, filepath.FromSlash(p.Folder)) }

// Unpacked tells whether root holds every program.
func (p Programs) Unpacked(root string) bool {
	for _, name := range p.Names {
		if _, err := os.Stat(filepath.Join(p.Dir(root), name)); err != nil {
			return false
		}
	}
	return true
}

// Unpack makes root hold what is in the package, out of the files of a download. It appears in one step, so that nobody
// runs half of a program.
func (p Programs) Unpack(files []string, root string) error {
	packages, err := p.choose(files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return fmt.Errorf("make the folder for %s: %w", p.Package, err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(root), ".unpacking-"+p.Package+"-")
	if err != nil {
		return fmt.Errorf("make a folder to unpack %s in: %w", p.Package, err)
	}
	defer os.RemoveAll(temporary)
	for _, file := range packages {
		if output, err := exec.Command("dpkg-deb", "--extract", file, temporary).CombinedOutput(); err != nil {
			return fmt.Errorf("unpack %s: %w: %s", filepath.Base(file), err, output)
		}
	}
	if !p.Unpacked(temporary) {
		return fmt.Errorf("the package %s does not hold %s", filepath.Base(packages[0]), strings.Join(p.Names, " and "))
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("open up %s: %w", temporary, err)
	}
	// Another run may have been quicker.
	if err := os.Rename(temporary, root); err != nil && (!errors.Is(err, fs.ErrExist) || !p.Unpacked(root)) {
		return fmt.Errorf("keep what was unpacked of %s: %w", p.Package, err)
	}
	return nil
}

// choose returns which files of a download are unpacked: the package first.
func (p Programs) choose(files []string) ([]string, error) {
	at := slices.IndexFunc(files, func(file string) bool { return strings.HasPrefix(filepath.Base(file), p.Package+"_") })
	if at < 0 {
		return nil, fmt.Errorf("no package %s among %v", p.Package, files)
	}
	if !p.WithLibraries {
		return files[at : at+1], nil
	}
	return slices.Concat(files[at:at+1], files[:at], files[at+1:]), nil
}
