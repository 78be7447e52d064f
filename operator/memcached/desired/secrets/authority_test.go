package secrets_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// now is when the tests take place: a time that is not ours, so that a look at the clock shows.
var now = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

// authority is a CA.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue signs a certificate with a new key, by itself if there is no authority. Unless told otherwise it is valid for a
// day before and after the given time.
func issue(t *testing.T, by *authority, at time.Time, change func(*x509.Certificate)) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: serial.String()},
		NotBefore: at.Add(-24 * time.Hour), NotAfter: at.Add(24 * time.Hour),
	}
	change(template)
	signer := by
	if signer == nil {
		signer = &authority{certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{certificate: certificate, key: key}
}

// ca is what makes a certificate that of a CA.
func ca(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
}

// leaf is what makes a certificate that of a server and a client, for names.
func leaf(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.DNSNames, c.KeyUsage = names, x509.KeyUsageDigitalSignature
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
}

// encode returns certificates as PEM.
func encode(all ...*authority) []byte {
	var out []byte
	for _, one := range all {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.certificate.Raw})...)
	}
	return out
}

// encodeKey returns the key as PEM.
func (a *authority) encodeKey(t *testing.T) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// files are the entries of a Secret: the certificates from the leaf on, and the CAs.
func files(t *testing.T, chain, roots []*authority) map[string][]byte {
	t.Helper()
	return map[string][]byte{"tls.crt": encode(chain...), "tls.key": chain[0].encodeKey(t), "ca.crt": encode(roots...)}
}

// with returns files with one of them changed, or without it if it is nil.
func with(files map[string][]byte, name string, content []byte) map[string][]byte {
	changed := maps.Clone(files)
	changed[name] = content
	if content == nil {
		delete(changed, name)
	}
	return changed
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}
