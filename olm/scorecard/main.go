// Command scorecard is the project's own scorecard test: it does with an installed operator what a user does, and reports
// each step. operator-sdk runs it in a pod with the bundle mounted at /bundle, and reads the result as JSON from the pod's
// log, so the program writes nothing else to standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bundleRoot is where operator-sdk mounts the bundle.
const bundleRoot = "/bundle"

// version is set by the linker.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scorecard:", err)
		os.Exit(1)
	}
}

// run reports failed tests in the JSON. It returns an error only if it cannot report.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 || args[0] != "user-walk" && args[0] != "version" {
		return errors.New("usage: scorecard user-walk | scorecard version")
	}
	if args[0] == "version" {
		_, err := fmt.Fprintln(out, version)
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v1alpha3.TestStatus{Results: userWalk(ctx)}); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func userWalk(ctx context.Context) []v1alpha3.TestResult {
	examples, err := readExamples(bundleRoot)
	if err != nil {
		return []v1alpha3.TestResult{broken("read the bundle", err)}
	}
	namespace := os.Getenv("SCORECARD_NAMESPACE")
	if namespace == "" {
		return []v1alpha3.TestResult{broken("find the namespace",
			errors.New("SCORECARD_NAMESPACE is not set: this program is meant to be run by `operator-sdk scorecard`"))}
	}
	cluster, err := connect()
	if err != nil {
		return []v1alpha3.TestResult{broken("connect to the cluster", err)}
	}
	var results []v1alpha3.TestResult
	for _, example := range examples {
		example.SetNamespace(namespace)
		results = append(results, try(ctx, cluster, example)...)
	}
	return results
}

// try tests one example. An example of a kind that has no test fails.
func try(ctx context.Context, cluster client.Client, example unstructured.Unstructured) []v1alpha3.TestResult {
	switch example.GetKind() {
	case "Memcached":
		return newCacheTest(cluster, example, dial).run(ctx)
	case "Application":
		return newApplicationTest(cluster, example, get).run(ctx)
	}
	return []v1alpha3.TestResult{broken("test the example "+example.GetName(),
		fmt.Errorf("this program has no test for the kind %s: add one", example.GetKind()))}
}

func connect() (client.Client, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster this pod runs in: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return c, nil
}
