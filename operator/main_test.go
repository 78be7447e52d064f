package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		"an unknown flag of the agent": {
			arguments: []string{"agent", "--nonsense"}, says: []string{"-nonsense", "agent --help"},
		},
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
	stderr.Reset()
	err = run(t.Context(), []string{"agent", "--help"}, nil, &stdout, &stderr)
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(stderr.String(), "-users-file") {
		t.Errorf("agent --help says %q, %v", stderr.String(), err)
	}
}

// The whole manager, put together as it ships: it looks after caches and applications, answers probes, and shows metrics only over
// HTTP/1.1 with TLS to those who may see them.
func TestTheManagerWorks(t *testing.T) {
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

// startProcess runs the operator, outside of a pod, until the end of the test. Then it has to end by itself when it is
// told to, without an error, and its log has to be readable.
func startProcess(t *testing.T, arguments ...string) {
	t.Helper()
	var log bytes.Buffer
	process := exec.Command(os.Args[0], arguments...)
	process.Stderr = &log
	process.Env = append(os.Environ(), asOperator+"=yes", "KUBECONFIG="+cluster.Kubeconfig)
	process.Env = append(process.Env, known...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		giveUp := time.AfterFunc(testkit.Patience, func() { _ = process.Process.Kill() })
		defer giveUp.Stop()
		if err := errors.Join(process.Process.Signal(syscall.SIGTERM), process.Wait()); err != nil {
			t.Errorf("the operator ended with %v:\n%s", err, &log)
		}
		assertReadable(t, &log)
	})
}

// assertReadable fails unless every line of a log is a JSON object of level INFO with a message.
func assertReadable(t *testing.T, log *bytes.Buffer) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var entry struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level != "INFO" || entry.Msg == "" || entry.Time == "" {
			t.Errorf("unexpected in the log: %s%v", line, err)
		}
	}
	if !strings.Contains(log.String(), `"memcachedImages":{"1.6.18":"`+digest+`"}`) {
		t.Errorf("the log does not say what is run:\n%s", log)
	}
}

// serviceAccount returns the token of a new service account that may or may not read metrics.
func serviceAccount(t *testing.T, namespace string, mayReadMetrics bool) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "scraper-"}}
	if err := cluster.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if mayReadMetrics {
		role := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: account.Name},
			Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}},
		}
		if err := errors.Join(cluster.Client.Create(t.Context(), role), cluster.Client.Create(t.Context(), binding)); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := cluster.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func get(t *testing.T, url, token string) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The certificate is made by the manager for itself. The client offers HTTP/2.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(response.Body)
	return response, string(body), errors.Join(err, response.Body.Close())
}
