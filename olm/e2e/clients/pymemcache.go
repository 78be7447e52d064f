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
	"strings"
)

// python is the system's own, for which Debian's modules are made.
const python = "/usr/bin/python3"

//go:embed pymemcache.py
var program string

// Pymemcache runs a program in Python that uses a cache. It needs root, because it mounts the /etc/resolv.conf of pods for the
// program alone.
type Pymemcache struct {
	// Module is the folder of the module pymemcache.
	Module string

	// Network has the pods' /etc/resolv.conf.
	Network *Network

	// Certificate holds the files ca.crt, tls.crt and tls.key: the CA to trust and the certificate to show. Nil for plain text.
	Certificate map[string]string

	// User and Password are for the login. Without a user there is none.
	User, Password string
}

// Used is the result of Use.
type Used struct {
	// Read is how many items were stored and read back.
	Read int `json:"read"`

	// Places is the number of items on each host.
	Places map[string]int `json:"places"`

	// Error is the error of pymemcache, empty if there was none.
	Error string `json:"error"`
}

// Use stores items, spread over the hosts, and reads them. It writes its files into folder, which should be empty.
func (p Pymemcache) Use(ctx context.Context, folder string, items int, hosts ...string) (*Used, error) {
	task := map[string]any{"hosts": hosts, "port": json.Number(Port), "items": items, "user": p.User, "password": p.Password, "ca": ""}
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
