package cluster

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/debian"
)

// packaged downloads and unpacks the programs of a Debian package, unless they are there, and returns the folder that they
// are in. The package is of the machine's own release, because they use the machine's libraries.
func (c *Cluster) packaged(ctx context.Context, programs debian.Programs) (string, error) {
	release, err := debian.Codename()
	if err != nil {
		return "", err
	}
	root := filepath.Join(c.layout.Bin(), programs.Package+"-debian-"+release)
	if programs.Unpacked(root) {
		return programs.Dir(root), nil
	}
	c.report.Expect(1)
	name := "download " + strings.Join(programs.Names, " and ") + " of Debian " + release
	err = c.perform(ctx, []task{{name, func(ctx context.Context) error {
		downloads := c.layout.Cluster("debs", programs.Package)
		if !debian.Downloaded(downloads) {
			if err := debian.Download(ctx, programs.Package, release, downloads); err != nil {
				return err
			}
		}
		files, err := debian.Packages(downloads)
		if err != nil {
			return err
		}
		return programs.Unpack(files, root)
	}}})
	return programs.Dir(root), err
}
