package debian

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Programs is a Debian package whose programs run on this machine. It is unpacked with its libraries, not installed: it
// starts no service and needs no root.
type Programs struct {
	// Package is the name of the package.
	Package string
	// Names are the programs to run, or the Python modules to import.
	Names []string
	// Folder is the folder of the package that holds them.
	Folder string
}

// prometheus scrapes metrics in tests, and its promtool tests alert rules.
var prometheus = Programs{Package: "prometheus", Names: []string{"prometheus", "promtool"}, Folder: "usr/bin"}

// Packaged holds, for the name of a program or module, the package of the machine's own release that it is taken from.
// pymemcache is a memcached client that many Python programs use.
var Packaged = map[string]Programs{
	"prometheus": prometheus,
	"promtool":   prometheus,
	"pymemcache": {Package: "python3-pymemcache", Names: []string{"pymemcache"}, Folder: "usr/lib/python3/dist-packages"},
}

// Memcached is for tests, which run it with the libraries of its release: it is taken from several.
var Memcached = Programs{Package: "memcached", Names: []string{"memcached"}, Folder: "usr/bin"}

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

// Unpack unpacks the files of a download to root. The content of root appears in one step.
func (p Programs) Unpack(files []string, root string) error {
	err := host.MakeDir(root, func(temporary string) error {
		for _, file := range files {
			if _, err := process.Run(exec.Command("dpkg-deb", "--extract", file, temporary)); err != nil {
				return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
			}
		}
		if !p.Unpacked(temporary) {
			return fmt.Errorf("the package %s does not hold %s", p.Package, strings.Join(p.Names, " and "))
		}
		return nil
	})
	if err == nil && !p.Unpacked(root) { // another run of this program made it
		err = fmt.Errorf("%s does not hold %s: remove it", root, strings.Join(p.Names, " and "))
	}
	return err
}
