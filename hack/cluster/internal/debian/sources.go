package debian

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// keyring verifies what is downloaded.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// sourceFor writes the apt source of a release: the machine's own source, with the name of the suite replaced.
func sourceFor(release string) (string, error) {
	codename, err := Codename()
	if err != nil {
		return "", err
	}
	release = cmp.Or(release, codename)
	mirror, err := machineMirror("/etc/apt", codename)
	return fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, mirror, release), err
}

// machineMirror finds the URI of this machine's own release.
func machineMirror(etc, codename string) (string, error) {
	for _, sources := range []struct {
		pattern string
		find    func(content, codename string) string
	}{
		{"sources.list", fromLines}, {"sources.list.d/*.list", fromLines}, {"sources.list.d/*.sources", fromStanzas},
	} {
		files, err := filepath.Glob(filepath.Join(etc, sources.pattern))
		if err != nil {
			return "", fmt.Errorf("list apt sources: %w", err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if uri := sources.find(string(data), codename); err == nil && uri != "" {
				return uri, nil
			}
		}
	}
	return "", fmt.Errorf("no apt source for the suite %q in %s: add the machine's Debian mirror there, because the images of memcached and nginx are made from Debian's packages", codename, etc)
}

// aptLine matches URI and suite in a line of a one-line source, with or without options.
var aptLine = regexp.MustCompile(`^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s`)

// fromLines reads the one-line format.
func fromLines(content, codename string) string {
	for line := range strings.Lines(content) {
		if found := aptLine.FindStringSubmatch(strings.TrimSpace(line) + " "); found != nil && found[2] == codename {
			return found[1]
		}
	}
	return ""
}

// fromStanzas reads the deb822 format.
func fromStanzas(content, codename string) string {
	for stanza := range strings.SplitSeq(content, "\n\n") {
		fields := map[string]string{}
		for line := range strings.Lines(stanza) {
			if key, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
				fields[strings.ToLower(key)] = strings.TrimSpace(value)
			}
		}
		uris := strings.Fields(fields["uris"])
		if len(uris) > 0 && slices.Contains(strings.Fields(fields["suites"]), codename) && fields["enabled"] != "no" {
			return uris[0]
		}
	}
	return ""
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
