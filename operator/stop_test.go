package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// An operator that may not read what it watches ends when it is told to.
func TestAnOperatorEndsBeforeItsCachesAreRead(t *testing.T) {
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = "nobody", []string{"system:authenticated"}
	}
	directory := t.TempDir()
	kubeconfig := filepath.Join(directory, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(directory, "log"))
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(os.Args[0], "--metrics-bind-address=0", "--health-probe-bind-address=0")
	process.Stderr = log
	process.Env = append(append(os.Environ(), asOperator+"=yes", "KUBECONFIG="+kubeconfig), known...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() { _ = process.Process.Kill() })
	testkit.Await(t, "the operator says what it may not read", func(context.Context) error {
		content, err := os.ReadFile(log.Name())
		if err == nil && !strings.Contains(string(content), "is forbidden") {
			err = fmt.Errorf("the log is %q", content)
		}
		return err
	})
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(testkit.Patience):
		t.Errorf("it still runs after %s", testkit.Patience)
	}
}
