package clients

import (
	"bytes"
	"context"
	_ "embed" // For the program.
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// python is the machine's own, which Debian's modules are made for.
const python = "/usr/bin/python3"

//go:embed pymemcache.py
var program string

// Pymemcache is how a program in Python uses a cache. It runs as root, because it sees another /etc/resolv.conf than the rest
// of this machine: the one that pods have.
type Pymemcache struct {
	// Module is the folder of the module pymemcache.
	Module string

	// Network is where it looks names up.
	Network *Network

	// Certificate holds the files ca.crt, tls.crt and tls.key: the CA to trust and the certificate to show. Nil for plain text.
	Certificate map[string]string

	// User and Password log in; without a user nobody does.
	User, Password string
}

// Used is what came of it.
type Used struct {
	// Read is how many items were stored, and read again.
	Read int `json:"read"`

	// Places are how many items are where, by host.
	Places map[string]int `json:"places"`

	// Error is why pymemcache gave up, empty if it did not.
	Error string `json:"error"`
}

// Use stores items, spread over the hosts, and reads them. It runs in folder, a new one.
func (p Pymemcache) Use(ctx context.Context, folder string, items int, hosts ...string) (*Used, error) {
	port, err := strconv.Atoi(Port)
	if err != nil {
		return nil, err
	}
	task := map[string]any{"hosts": hosts, "port": port, "items": items, "user": p.User, "password": p.Password, "ca": ""}
	files := map[string]string{"resolv.conf": p.Network.Config, "use.py": program}
	if p.Certificate != nil {
		maps.Copy(files, p.Certificate)
		task["ca"], task["certificate"], task["key"] = filepath.Join(folder, "ca.crt"), filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	input, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	return p.run(ctx, folder, input)
}

func (p Pymemcache) run(ctx context.Context, folder string, input []byte) (*Used, error) {
	const script = `mount --bind "$1/resolv.conf" /etc/resolv.conf && exec ` + python + ` "$1/use.py"`
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "sh", "-c", script, "sh", folder)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Dir(p.Module), "PYTHONDONTWRITEBYTECODE=1")
	var output, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("use pymemcache: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	used := &Used{}
	if err := json.Unmarshal(output.Bytes(), used); err != nil {
		return nil, fmt.Errorf("use pymemcache: it printed %q: %w", output.String(), err)
	}
	return used, nil
}
