package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// deleteResources deletes what other tests have left of both kinds: the operator manages all namespaces.
func deleteResources(t *testing.T) {
	t.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.MemcachedList{}, &appv1alpha1.ApplicationList{}} {
		if err := cluster.Client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		err := apimeta.EachListItem(list, func(object runtime.Object) error {
			return client.IgnoreNotFound(cluster.Client.Delete(t.Context(), object.(client.Object)))
		})
		if err != nil {
			t.Fatal(err)
		}
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
