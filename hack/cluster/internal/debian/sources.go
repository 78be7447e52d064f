package debian

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// keyring verifies what is downloaded.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// sourceFor writes the apt source of a release: the machine's own source, with the name of the suite replaced.
func sourceFor(ctx context.Context, release string) (string, error) {
	codename, err := Codename()
	if err != nil {
		return "", err
	}
	release = cmp.Or(release, codename)
	mirror, err := machineMirror(ctx, codename)
	return fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, mirror, release), err
}

// machineMirror asks apt for the URI of this machine's own release, which needs no downloaded lists.
func machineMirror(ctx context.Context, codename string, options ...string) (string, error) {
	output, err := process.Run(exec.CommandContext(ctx, "apt-get", append(options, "update", "--print-uris")...))
	if err != nil {
		return "", fmt.Errorf("read the machine's apt sources: %w", err)
	}
	for line := range strings.Lines(output) {
		// A line is the quoted URI of an index, MIRROR/dists/SUITE/main/binary-ARCHITECTURE/Packages.xz, and a file's name.
		mirror, _, found := strings.Cut(strings.TrimPrefix(line, "'"), "/dists/"+codename+"/main/binary-")
		if found {
			return mirror, nil
		}
	}
	return "", fmt.Errorf("no apt source for the suite %q in /etc/apt: add the machine's Debian mirror there, because the images of memcached and nginx are made from Debian's packages", codename)
}

// Codename reads the machine's Debian release from os-release.
func Codename() (string, error) {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("read the name of the distribution: %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = strings.Trim(value, `"`)
		}
	}
	if values["ID"] != "debian" || values["VERSION_CODENAME"] == "" {
		return "", errors.New("this machine does not run Debian: run the local cluster on Debian, because the images of memcached and nginx are made from its packages, or set KUBECONFIG to a cluster of your own")
	}
	return values["VERSION_CODENAME"], nil
}
