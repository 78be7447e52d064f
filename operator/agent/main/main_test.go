package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/memcached-operator/hack/project"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// mostResident is how much memory the agent may have resident at rest, in KiB. It had 11,400 to 11,800 beside 1.6.18 to 1.6.45, of which
// 7,500 are pages of its own file; how many of these the kernel maps depends on the file system.
const mostResident = 13 << 10

// directory is for the agent's program.
var directory string

func TestMain(m *testing.M) {
	var err error
	if directory, err = os.MkdirTemp("", "agent-program-"); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(directory) // It is in the system's temporary directory, so an error does not matter.
	os.Exit(code)
}

// program is the path of the agent's program, compiled as for the image.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(directory, "agent")
	build := exec.Command("go", "build", "-trimpath", "-tags", project.AgentTag, "-ldflags", "-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return path, nil
})

// command returns a command that runs the agent.
func command(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), path, arguments...)
}

// start runs the agent beside a memcached until the end of the test, when it has to end without an error because it is told to.
func start(t *testing.T, arguments ...string) (url string, pid int) {
	t.Helper()
	address := testkit.FreeAddress(t)
	agent := command(t, append([]string{"--bind-address", address, "--interval=1s", "--directory", t.TempDir()}, arguments...)...)
	agent.Stderr = t.Output()
	agent.Cancel = func() error { return agent.Process.Signal(syscall.SIGTERM) }
	agent.WaitDelay = 20 * time.Second
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = agent.Wait() // The context of the test has ended, and with it the agent.
		if code := agent.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the agent ends with %s", agent.ProcessState)
		}
	})
	return "http://" + address, agent.Process.Pid
}

// answers returns an error unless a page answers 200.
func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", url, response.StatusCode, page)
	}
	return err
}

// resident returns how much memory a process has resident, in KiB, and how that is made up.
func resident(t *testing.T, pid int) (total int, parts []string) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^(VmRSS|RssAnon|RssFile|Threads):\s+(\d+)`).FindAllStringSubmatch(string(status), -1) {
		parts = append(parts, found[1]+" "+found[2])
		if found[1] == "VmRSS" {
			total, _ = strconv.Atoi(found[2])
		}
	}
	return total, parts
}

// Every pod of a cache has an agent. A node may give it memory in transparent huge pages, up to 1,900 KiB more as measured. The bound
// is without them, so that it does not depend on the machine.
func TestTheAgentTakesLittleMemory(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil { // For this process, and those that it starts.
		t.Fatal(err)
	}
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t)
		url, pid := start(t, "--memcached", server.Address, "--process", server.Name)
		agenttesting.Await(t, "the agent is ready", func() error { return answers(t.Context(), url+"/readyz") })
		for range 30 { // As many scrapes as in ten minutes.
			for _, path := range []string{"/metrics", "/state", "/readyz", "/healthz"} {
				if err := answers(t.Context(), url+path); err != nil {
					t.Fatal(err)
				}
			}
		}
		total, parts := resident(t, pid)
		t.Logf("in KiB: %s", strings.Join(parts, ", "))
		if total == 0 || total > mostResident {
			t.Errorf("%d KiB are resident, at most %d may be", total, mostResident)
		}
	})
}

// What speaks to Kubernetes takes memory as soon as it is linked.
func TestNothingOfKubernetesIsLinked(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output() // Each after what it imports.
	if err != nil || !bytes.Contains(output, []byte("/operator/agent\n")) {
		t.Fatalf("%v: %s", err, output)
	}
	if linked := regexp.MustCompile(`(?m)^(\w+\.)*k8s\.io/\S+`).FindAllString(string(output), -1); len(linked) > 0 {
		t.Errorf("the agent links %d packages of Kubernetes, the first of them %s", len(linked), linked[0])
	}
}

func TestMistakesAndHelpEndTheAgent(t *testing.T) {
	for argument, test := range map[string]struct {
		code int
		says string
	}{
		"--help":     {0, "-users-file file"},
		"--nonsense": {1, "memcached-operator: flag provided but not defined: -nonsense; agent --help lists all flags\n"},
	} {
		agent := command(t, argument)
		output, _ := agent.CombinedOutput() // The exit code says it.
		if code := agent.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(output), test.says) {
			t.Errorf("%s ends with %d and says %s", argument, code, output)
		}
	}
}
