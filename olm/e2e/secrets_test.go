//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/clients"
)

func newAuthority(t *testing.T) *clients.Authority {
	t.Helper()
	authority, err := clients.NewAuthority()
	must(t, err)
	return authority
}

// certificateFor is a certificate for the nodes of a cache, by all their names. It is good for the time given, which may be
// negative.
func certificateFor(t *testing.T, authority *clients.Authority, cache string, d time.Duration) *clients.Certificate {
	t.Helper()
	host := cache + "-nodes.default.svc"
	certificate, err := authority.Issue(time.Now().Add(d), host, "*."+host)
	must(t, err)
	return certificate
}

func clientTLS(t *testing.T, certificate *clients.Certificate) *tls.Config {
	t.Helper()
	config, err := certificate.TLS()
	must(t, err)
	return config
}

// leafOf is a certificate without the CA.
func leafOf(t *testing.T, certificate *clients.Certificate) *x509.Certificate {
	t.Helper()
	leaf, err := x509.ParseCertificate(clientTLS(t, certificate).Certificates[0].Certificate[0])
	must(t, err)
	return leaf
}

// userLines are what the Secret of a cache's users holds.
func userLines(lines ...string) map[string][]byte {
	return map[string][]byte{"users": []byte(strings.Join(lines, "\n") + "\n")}
}

// secretLabels are those of the Secrets that tests make.
var secretLabels = client.MatchingLabels{"example.com/made-by": "end-to-end-tests"}

// deleteSecrets takes the Secrets of the tests away.
func deleteSecrets(ctx context.Context) error {
	return suite.cluster.Client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace("default"), secretLabels)
}

// writeSecret makes a Secret, or replaces what is in it.
func writeSecret(t *testing.T, name string, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: secretLabels}, Data: data}
	err := suite.cluster.Client.Create(t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = suite.cluster.Client.Update(t.Context(), secret)
	}
	must(t, err)
}
