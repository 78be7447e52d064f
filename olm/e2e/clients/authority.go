package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// Authority is a CA that lives as long as a test.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Certificate is one with its key and the CA that signed it, each as PEM: what a Secret of type kubernetes.io/tls holds as
// cert-manager makes it.
type Certificate struct {
	Leaf, Key, CA []byte
}

// NewAuthority makes a CA.
func NewAuthority() (*Authority, error) {
	now := time.Now()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "a CA of the end-to-end tests"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(24 * time.Hour),
	}
	der, key, err := sign(template, nil)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// Issue signs a new certificate for hosts, for servers and for clients. It is valid from a day before notAfter, or from a
// day ago if that is earlier.
func (a *Authority) Issue(notAfter time.Time, hosts ...string) (*Certificate, error) {
	const day = 24 * time.Hour
	notBefore := notAfter.Add(-day)
	if yesterday := time.Now().Add(-day); yesterday.Before(notBefore) {
		notBefore = yesterday
	}
	der, key, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts, NotBefore: notBefore, NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &Certificate{
		Leaf: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
		CA:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}),
	}, nil
}

// sign signs a certificate with a new key, by itself if there is no authority.
func sign(template *x509.Certificate, by *Authority) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, nil, err
	}
	parent, parentKey := template, key
	if by != nil {
		parent, parentKey = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	return der, key, err
}

// Secret is what the Secret of a cache's certificate holds.
func (c *Certificate) Secret() map[string][]byte {
	return map[string][]byte{"tls.crt": c.Leaf, "tls.key": c.Key, "ca.crt": c.CA}
}

// TLS is how a client connects that trusts the CA and shows the certificate.
func (c *Certificate) TLS() (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.CA) {
		return nil, fmt.Errorf("the CA is no certificate")
	}
	pair, err := tls.X509KeyPair(c.Leaf, c.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, nil
}
