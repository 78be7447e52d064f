// Package operand makes stand-ins for official images of what the operator runs, from Debian's packages: memcached, from
// several releases, and nginx, which the sample of a web application names. Packages are only downloaded and unpacked;
// none is installed.
package debian

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// aptLine is the option-free part of a one-line apt source: URI and suite.
var aptLine = regexp.MustCompile(`^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s`)

// keyring verifies what is downloaded.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// SourceFor writes the apt source for another release: the machine's own mirror, with the suite's name replaced.
func SourceFor(machineCodename, release string) (string, error) {
	mirror, err := machineMirror("/etc/apt", machineCodename)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, mirror, release), nil
}

// machineMirror finds the URI that this machine gets its own release from.
func machineMirror(etc, codename string) (string, error) {
	lines, err := filepath.Glob(filepath.Join(etc, "sources.list.d", "*.list"))
	if err != nil {
		return "", fmt.Errorf("list apt sources: %w", err)
	}
	for _, file := range append([]string{filepath.Join(etc, "sources.list")}, lines...) {
		if uri := fromList(file, codename); uri != "" {
			return uri, nil
		}
	}
	stanzas, err := filepath.Glob(filepath.Join(etc, "sources.list.d", "*.sources"))
	if err != nil {
		return "", fmt.Errorf("list apt sources: %w", err)
	}
	for _, file := range stanzas {
		if uri := fromStanzas(file, codename); uri != "" {
			return uri, nil
		}
	}
	return "", fmt.Errorf("no apt source for the suite %q in %s: the images of memcached and nginx are made from Debian's packages, so add the machine's Debian mirror there", codename, etc)
}

// fromList reads the old one-line format.
func fromList(file, codename string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if found := aptLine.FindStringSubmatch(strings.TrimSpace(line) + " "); found != nil && found[2] == codename {
			return found[1]
		}
	}
	return ""
}

// fromStanzas reads the deb822 format.
func fromStanzas(file, codename string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for stanza := range strings.SplitSeq(string(data), "\n\n") {
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
	file, err := os.Open("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("read the name of the distribution: %w", err)
	}
	defer file.Close()
	values := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), "="); ok {
			values[key] = strings.Trim(value, `"`)
		}
	}
	if values["ID"] != "debian" || values["VERSION_CODENAME"] == "" {
		return "", errors.New("this is not Debian: the images of memcached and nginx are made from Debian's packages, so run the local cluster on Debian, or use a cluster of your own through KUBECONFIG")
	}
	return values["VERSION_CODENAME"], nil
}
