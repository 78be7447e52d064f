// Package pki is the cluster's own certificate authority: it issues every certificate that the
// components show each other, and renews what is about to expire. Nothing outside this machine trusts it.
package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 2 * 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is replaced.
	renewBefore = 30 * 24 * time.Hour
)

// Leaf asks for one certificate.
type Leaf struct {
	// Name is the base name of the .crt and .key files.
	Name string
	// User and Groups become the subject's common name and organizations.
	User   string
	Groups []string
	DNS    []string
	IPs    []string
}

// Authority issues certificates into a folder.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// OpenAuthority loads the authority from dir, or makes it when it is not there or soon ends.
func OpenAuthority(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for certificates: %w", err)
	}
	a := &Authority{dir: dir}
	cert, key, err := load(filepath.Join(dir, "ca"))
	if err == nil && time.Until(cert.NotAfter) > leafLife+renewBefore {
		a.cert, a.key = cert, key
		return a, nil
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "memcached-operator local cluster"},
		NotAfter:              time.Now().Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	a.cert, a.key, err = issue(template, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make the certificate authority: %w", err)
	}
	return a, save(filepath.Join(dir, "ca"), a.cert, a.key)
}

// Ensure issues the certificate unless a good one is there.
func (a *Authority) Ensure(leaf Leaf) error {
	base := filepath.Join(a.dir, leaf.Name)
	if cert, _, err := load(base); err == nil && a.good(cert, leaf) {
		return nil
	}
	var ips []net.IP
	for _, ip := range leaf.IPs {
		ips = append(ips, net.ParseIP(ip))
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: leaf.User, Organization: leaf.Groups},
		NotAfter:    time.Now().Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    leaf.DNS,
		IPAddresses: ips,
	}
	cert, key, err := issue(template, a.cert, a.key)
	if err != nil {
		return fmt.Errorf("issue the certificate %s: %w", leaf.Name, err)
	}
	return save(base, cert, key)
}

// good tells whether cert is ours, lasts, and says what leaf asks for.
func (a *Authority) good(cert *x509.Certificate, leaf Leaf) bool {
	var ips []string
	for _, ip := range cert.IPAddresses {
		ips = append(ips, ip.String())
	}
	return cert.CheckSignatureFrom(a.cert) == nil && time.Until(cert.NotAfter) > renewBefore &&
		cert.Subject.CommonName == leaf.User && slices.Equal(cert.Subject.Organization, leaf.Groups) &&
		slices.Equal(cert.DNSNames, leaf.DNS) && slices.Equal(ips, leaf.IPs)
}

// Sign issues a certificate for one DNS name that is kept nowhere.
func (a *Authority) Sign(host string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	return issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: host},
		NotAfter:    time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{host},
	}, a.cert, a.key)
}

// ServiceAccountKey makes the key pair that signs service account tokens (sa.key, sa.pub) unless it is there.
func (a *Authority) ServiceAccountKey() error {
	private := filepath.Join(a.dir, "sa.key")
	if _, err := os.Stat(private); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	if err := writePEM(filepath.Join(a.dir, "sa.pub"), "PUBLIC KEY", public, host.Public); err != nil {
		return err
	}
	return writeKey(private, key)
}

// issue completes the template, with a new key, and signs it by parent, or by itself when parent is nil.
func issue(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, signer = template, key
	}
	const serialBits = 128
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, nil, err
	}
	template.NotBefore = time.Now().Add(-time.Hour) // clocks of machines that just resumed may be behind
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}
