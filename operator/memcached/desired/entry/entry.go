package entry

import (
	_ "embed"
	"strings"
)

// GracePeriodSeconds is how long a pod with a warm restart should get to end. memcached saves within seconds: it notices
// the signal within one, and what it writes is small, because the items are in the memory file already.
const GracePeriodSeconds = 60

//go:embed start.sh
var start string

//go:embed stop.sh
var stop string

// Command returns the command of the container that runs memcached. Its arguments are memcached's, and have to contain
// "-e" and the memory file, the path of a file on a tmpfs that the container may write to. Beside it are files of the same
// name with the endings meta, pid and rested.
func Command(memoryFile string) []string {
	return shell(start, memoryFile)
}

// PreStop returns the command that makes memcached save its items and waits until it has ended. It succeeds also if there
// is nothing to save.
func PreStop(memoryFile string) []string {
	return shell(stop, memoryFile)
}

// shell returns the command that runs a script. Its comments are for those who read the source.
func shell(script, memoryFile string) []string {
	var lines []string
	for line := range strings.Lines(script) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			lines = append(lines, line)
		}
	}
	return []string{"/bin/sh", "-c", strings.Join(lines, ""), "memcached", memoryFile}
}
