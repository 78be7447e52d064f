package debian

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Programs is a Debian package whose programs run on this machine. It is unpacked, not installed: it starts no service and
// needs no root.
type Programs struct {
	// Package is the name of the package.
	Package string
	// Names are the programs to run, or the Python modules to import.
	Names []string
	// Folder is the folder of the package that holds them.
	Folder string
	// WithLibraries also unpacks the libraries that the package depends on, which this machine may not have.
	WithLibraries bool
}

// prometheus scrapes metrics in tests, and its promtool tests alert rules.
var prometheus = Programs{Package: "prometheus", Names: []string{"prometheus", "promtool"}, Folder: "usr/bin"}

// Packaged holds, for the name of a program or module, the package of the machine's own release that it is taken from.
// pymemcache is a memcached client that many Python programs use.
var Packaged = map[string]Programs{
	"prometheus": prometheus,
	"promtool":   prometheus,
	"pymemcache": {Package: "python3-pymemcache", Names: []string{"pymemcache"}, Folder: "usr/lib/python3/dist-packages", WithLibraries: true},
}

// Memcached is for tests. It is taken from several releases, so it needs the libraries of its release.
var Memcached = Programs{Package: "memcached", Names: []string{"memcached"}, Folder: "usr/bin", WithLibraries: true}

// Dir is the folder of the programs below root.
func (p Programs) Dir(root string) string { return filepath.Join(root, filepath.FromSlash(p.Folder)) }

// Unpacked reports whether root holds every program.
func (p Programs) Unpacked(root string) bool {
	for _, name := range p.Names {
		if _, err := os.Stat(filepath.Join(p.Dir(root), name)); err != nil {
			return false
		}
	}
	return true
}

// Unpack unpacks the package, given the files of a download, to root. The content of root appears in one step.
func (p Programs) Unpack(files []string, root string) error {
	packages, err := p.choose(files)
	if err != nil {
		return err
	}
	err = host.MakeDir(root, func(temporary string) error {
		for _, file := range packages {
			if _, err := process.Run(exec.Command("dpkg-deb", "--extract", file, temporary)); err != nil {
				return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
			}
		}
		if !p.Unpacked(temporary) {
			return fmt.Errorf("the package %s does not hold %s", filepath.Base(packages[0]), strings.Join(p.Names, " and "))
		}
		return nil
	})
	if err == nil && !p.Unpacked(root) { // another run of this program made it
		err = fmt.Errorf("%s does not hold %s: remove it", root, strings.Join(p.Names, " and "))
	}
	return err
}

// choose returns the files of a download to unpack: the package, and then its libraries if they are wanted.
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
