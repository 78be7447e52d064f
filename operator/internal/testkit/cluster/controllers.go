package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// controllerFlags run the controllers that tests need, without the usual limit of requests.
var controllerFlags = []string{
	"--controllers=deployment-controller,replicaset-controller,statefulset-controller,disruption-controller," +
		"garbage-collector-controller,namespace-controller",
	"--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=1000",
}

// withControllers runs tests beside kube-controller-manager and the kubelet. The log of kube-controller-manager is shown if
// a test fails.
func withControllers(tests func() int) (code int, err error) {
	var log bytes.Buffer
	stopControllers, err := startControllers(&log)
	if err != nil {
		return 1, err
	}
	defer func() {
		stopControllers()
		if code != 0 {
			_, _ = fmt.Fprintf(os.Stderr, "kube-controller-manager:\n%s", &log)
		}
	}()
	stopKubelet, err := startKubelet()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stopKubelet()) }()
	return tests(), nil
}

// startControllers starts kube-controller-manager. Should it end by itself, the whole program ends: every test would wait
// in vain.
func startControllers(log *bytes.Buffer) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, Program("kube-controller-manager"), append(controllerFlags, "--kubeconfig="+Kubeconfig)...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("%w: build it with `go run -C hack/cluster . assets`", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := command.Wait(); ctx.Err() == nil {
			_, _ = fmt.Fprintf(os.Stderr, "kube-controller-manager ended early: %v\n%s", err, log)
			_ = errors.Join(environment.Stop(), os.RemoveAll(filepath.Dir(Kubeconfig))) // There is worse to tell.
			os.Exit(1)
		}
	}()
	return func() {
		cancel()
		<-ended
	}, nil
}
