//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// certificateFor issues a certificate for the pods of a cache, by all their names, as the files of a Secret. It expires after
// the given time, or has expired if that is negative.
func certificateFor(t *testing.T, authority *agenttesting.Authority, cache string, d time.Duration) map[string]string {
	t.Helper()
	return certificateIn(t, authority, inDefault(cache), d)
}

// certificateIn is certificateFor in any namespace.
func certificateIn(t *testing.T, authority *agenttesting.Authority, cache types.NamespacedName, d time.Duration) map[string]string {
	t.Helper()
	host := cache.Name + "-nodes." + cache.Namespace + ".svc"
	return authority.Issue(t, time.Now().Add(d), host, "*."+host)
}

// readCertificates reads the files of a certificate's Secret.
func readCertificates(t *testing.T, files map[string]string) *agentapi.Certificates {
	t.Helper()
	certificates, err := agenttesting.NewVolume(t, files).Files().Read()
	must(t, err)
	return certificates
}

// clientTLS returns the configuration of a client that trusts the CA and shows the certificate.
func clientTLS(t *testing.T, files map[string]string) *tls.Config {
	t.Helper()
	return readCertificates(t, files).TLS()
}

// userLines returns the files of a Secret with users.
func userLines(lines ...string) map[string]string {
	return map[string]string{"users": strings.Join(lines, "\n") + "\n"}
}

// secretLabels are those of the Secrets that tests make.
var secretLabels = client.MatchingLabels{"example.com/made-by": "end-to-end-tests"}

// deleteSecrets deletes the Secrets that tests made.
func deleteSecrets(ctx context.Context) error {
	return suite.cluster.Client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace("default"), secretLabels)
}

// writeSecret creates a Secret, or replaces the files in it.
func writeSecret(t *testing.T, name string, files map[string]string) {
	t.Helper()
	writeSecretIn(t, inDefault(name), files)
}

// writeSecretIn is writeSecret in any namespace.
func writeSecretIn(t *testing.T, key types.NamespacedName, files map[string]string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: secretLabels}, StringData: files}
	err := suite.cluster.Client.Create(t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = suite.cluster.Client.Update(t.Context(), secret)
	}
	must(t, err)
}
