package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// asOperator, set in the environment, makes this test binary behave like the operator's own.
const asOperator = "TEST_BINARY_IS_THE_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		main()
		return
	}
	if slices.ContainsFunc(os.Args, func(argument string) bool { return strings.HasPrefix(argument, "-test.fuzz=") }) {
		os.Exit(m.Run()) // The processes that look for inputs need no API server.
	}
	os.Exit(cluster.MainWithControllers(m))
}

const digest = "docker.io/library/memcached@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"

// known is the environment of a manager that knows one version of memcached.
var known = []string{"RELATED_IMAGE_MEMCACHED_1_6_18=" + digest}

func TestMistakesAreExplainedInOneLine(t *testing.T) {
	for name, test := range map[string]struct {
		arguments, environment []string
		says                   []string
	}{
		"no image": {says: []string{
			"no environment variable names an image of memcached", "set RELATED_IMAGE_MEMCACHED_1_6_45", "for example",
		}},
		"the variable of earlier releases": {
			environment: []string{"RELATED_IMAGE_MEMCACHED=" + digest}, says: []string{"set RELATED_IMAGE_MEMCACHED_1_6_45"},
		},
		"a variable without a version": {
			environment: []string{"RELATED_IMAGE_MEMCACHED_LATEST=" + digest},
			says:        []string{"RELATED_IMAGE_MEMCACHED_LATEST does not end in a version of memcached", "for example RELATED_IMAGE_MEMCACHED_1_6_45"},
		},
		"a version of two numbers": {
			environment: []string{"RELATED_IMAGE_MEMCACHED_1_6=" + digest}, says: []string{"RELATED_IMAGE_MEMCACHED_1_6 does not end in a version"},
		},
		"an image that is empty": {
			environment: []string{"RELATED_IMAGE_MEMCACHED_1_6_18="}, says: []string{"RELATED_IMAGE_MEMCACHED_1_6_18 is empty", "or remove it"},
		},
		"an image with spaces": {
			environment: []string{"RELATED_IMAGE_MEMCACHED_1_6_18= memcached"}, says: []string{"RELATED_IMAGE_MEMCACHED_1_6_18", "take them away"},
		},
		"no image reference": {
			environment: []string{"RELATED_IMAGE_MEMCACHED_1_6_18=Not:An:Image"},
			says:        []string{"RELATED_IMAGE_MEMCACHED_1_6_18 names no image", "Not:An:Image"},
		},
		"a default that is not known": {
			environment: append([]string{"MEMCACHED_VERSION=1.6.45", "RELATED_IMAGE_MEMCACHED_1_6_9=" + digest}, known...),
			says:        []string{`MEMCACHED_VERSION is "1.6.45"`, "only of 1.6.9, 1.6.18", "set it to one of these"},
		},
		"a default that is empty": {
			environment: append([]string{"MEMCACHED_VERSION="}, known...), says: []string{`MEMCACHED_VERSION is ""`, "set it to one of these"},
		},
		"no image reference for the agent": {
			environment: append([]string{"AGENT_IMAGE=Not:An:Image"}, known...), says: []string{"AGENT_IMAGE names no image", "memcached-operator@sha256"},
		},
		"an empty image of the agent": {
			environment: append([]string{"AGENT_IMAGE="}, known...), says: []string{"AGENT_IMAGE is empty", "or remove it"},
		},
		"a level of pod security that does not exist": {
			environment: append([]string{"APPLICATION_POD_SECURITY=strict"}, known...),
			says:        []string{`APPLICATION_POD_SECURITY is "strict"`, "privileged, baseline or restricted"},
		},
		"an empty level of pod security": {
			environment: append([]string{"APPLICATION_POD_SECURITY="}, known...), says: []string{`APPLICATION_POD_SECURITY is ""`, "or remove it"},
		},
		"an annotation that cannot exist": {
			environment: append([]string{"MEMCACHED_SERVICE_ANNOTATIONS=example.com/,a b"}, known...),
			says:        []string{`MEMCACHED_SERVICE_ANNOTATIONS has the entry "a b"`, "with commas between them", "for example"},
		},
		"a pattern of annotations": {
			environment: append([]string{"MEMCACHED_SERVICE_ANNOTATIONS=*.example.com/pool"}, known...),
			says:        []string{`the entry "*.example.com/pool"`, "that end in / or *"},
		},
		"an unknown flag": {environment: known, arguments: []string{"--nonsense"}, says: []string{"-nonsense", "--help"}},
		"an argument":     {environment: known, arguments: []string{"start"}, says: []string{`"start"`, "--help"}},
		"leader election outside a cluster": {
			environment: known, arguments: []string{"--leader-elect"}, says: []string{"--leader-elect works only in a pod"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := run(t.Context(), test.arguments, test.environment, &stdout, &stderr)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "\n") || stdout.Len()+stderr.Len() > 0 {
				t.Errorf("more than one line: %v\n%s%s", err, &stdout, &stderr)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestVersionAndHelpNeedNoCluster(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, nil, &stdout, &stderr); err != nil || stdout.String() != version+"\n" {
		t.Errorf("--version says %q, %v", stdout.String(), err)
	}
	err := run(t.Context(), []string{"--help"}, nil, &stdout, &stderr)
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(stderr.String(), "-metrics-bind-address") {
		t.Errorf("--help says %q, %v", stderr.String(), err)
	}
}

// The whole manager, put together as it ships: it looks after caches and applications, answers probes, and shows metrics only over
// HTTP/1.1 with TLS to those who may see them.
func TestTheManagerWorks(t *testing.T) {
	deleteResources(t)
	metricsAddress, healthAddress := testkit.FreeAddress(t), testkit.FreeAddress(t)
	startProcess(t, "--metrics-bind-address", metricsAddress, "--health-probe-bind-address", healthAddress)
	for _, probe := range []string{"healthz", "readyz"} {
		testkit.Await(t, probe+" answers", func(context.Context) error {
			_, _, err := get(t, "http://"+healthAddress+"/"+probe, "")
			return err
		})
	}

	namespace := cluster.Namespace(t)
	memcached := testkit.MakeMemcached("cache").Namespace(namespace).Size(1).Obj()
	if err := cluster.Client.Create(t.Context(), memcached); err != nil {
		t.Fatal(err)
	}
	application := testkit.MakeApplication("web").Namespace(namespace).Caches("cache").Obj()
	if err := cluster.Client.Create(t.Context(), application); err != nil {
		t.Fatal(err)
	}
	metrics := "https://" + metricsAddress + "/metrics"
	for token, want := range map[string]int{
		"":                                  http.StatusUnauthorized,
		serviceAccount(t, namespace, false): http.StatusForbidden,
	} {
		testkit.Await(t, fmt.Sprintf("metrics answer %d", want), func(context.Context) error {
			response, _, err := get(t, metrics, token)
			if err == nil && response.StatusCode != want {
				t.Fatalf("metrics answer %s, want %d", response.Status, want)
			}
			return err
		})
	}
	token := serviceAccount(t, namespace, true)
	testkit.Await(t, "metrics tell of a cache and an application that are ready", func(context.Context) error {
		response, body, err := get(t, metrics, token)
		if err != nil {
			return err
		}
		if response.ProtoMajor != 1 {
			t.Errorf("metrics are served over %s", response.Proto)
		}
		for _, line := range []string{
			`memcached_operator_managed_objects{kind="Memcached"} 1`,
			`memcached_operator_ready_objects{kind="Memcached"} 1`,
			`memcached_operator_reconcile_outcomes_total{kind="Memcached",outcome="Succeeded",reason=""}`,
			`memcached_operator_managed_objects{kind="Application"} 1`,
			`memcached_operator_ready_objects{kind="Application"} 1`,
			`memcached_operator_reconcile_outcomes_total{kind="Application",outcome="Succeeded",reason=""}`,
		} {
			if !strings.Contains(body, line) {
				return fmt.Errorf("no %s in\n%s", line, body)
			}
		}
		return nil
	})
	for kind, object := range map[string]client.Object{"Memcached": memcached, "Application": application} {
		if err := cluster.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "metrics forget an object that is gone", func(context.Context) error {
			_, body, err := get(t, metrics, token)
			if err == nil && !strings.Contains(body, `memcached_operator_ready_objects{kind="`+kind+`"} 0`) {
				return errors.New(body)
			}
			return err
		})
	}
}
