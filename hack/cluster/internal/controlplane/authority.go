package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 2 * 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is replaced.
	renewBefore = 30 * 24 * time.Hour
)

// Certificate describes one certificate.
type Certificate struct {
	// Name is the name of the .crt and .key files.
	Name string
	// User and Groups become the subject's common name and organizations.
	User   string
	Groups []string
	DNS    []string
	IPs    []string
}

// Authority is the cluster's certificate authority, which only this machine trusts. It issues the certificates of all
// components into a folder.
type Authority struct {
	dir  string
	pair tls.Certificate
}

// OpenAuthority loads the authority from dir, and makes it unless it is there and lasts.
func OpenAuthority(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for certificates: %w", err)
	}
	base := filepath.Join(dir, "ca")
	pair, err := load(base)
	if err == nil && time.Until(pair.Leaf.NotAfter) > certificateLife+renewBefore {
		return &Authority{dir: dir, pair: pair}, nil
	}
	pair, err = issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "memcached-operator local cluster"},
		NotAfter:              time.Now().Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("make the certificate authority: %w", err)
	}
	return &Authority{dir: dir, pair: pair}, save(base, pair)
}

// Ensure issues the certificate unless it is there, lasts and is as described.
func (a *Authority) Ensure(want Certificate) error {
	base := filepath.Join(a.dir, want.Name)
	if pair, err := load(base); err == nil && a.good(pair.Leaf, want) {
		return nil
	}
	var ips []net.IP
	for _, ip := range want.IPs {
		ips = append(ips, net.ParseIP(ip))
	}
	pair, err := issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: want.User, Organization: want.Groups},
		NotAfter:    time.Now().Add(certificateLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    want.DNS,
		IPAddresses: ips,
	}, &a.pair)
	if err != nil {
		return fmt.Errorf("issue the certificate %s: %w", want.Name, err)
	}
	return save(base, pair)
}

// good reports whether this authority issued the certificate, and it lasts and is as described.
func (a *Authority) good(cert *x509.Certificate, want Certificate) bool {
	var ips []string
	for _, ip := range cert.IPAddresses {
		ips = append(ips, ip.String())
	}
	return cert.CheckSignatureFrom(a.pair.Leaf) == nil && time.Until(cert.NotAfter) > renewBefore &&
		cert.Subject.CommonName == want.User && slices.Equal(cert.Subject.Organization, want.Groups) &&
		slices.Equal(cert.DNSNames, want.DNS) && slices.Equal(ips, want.IPs)
}

// Sign issues a certificate for one DNS name, without saving it.
func (a *Authority) Sign(host string) (tls.Certificate, error) {
	return issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: host},
		NotAfter:    time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{host},
	}, &a.pair)
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
	content := pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: public})
	if err := host.WriteFile(filepath.Join(a.dir, "sa.pub"), content, host.Public); err != nil {
		return err
	}
	return saveKey(private, key)
}

// systemBundles are the files with the system's certificate authorities in Linux distributions.
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", // Debian, Arch
	"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora
	"/etc/ssl/ca-bundle.pem",             // openSUSE
}

// Bundle writes the certificates of the system's authorities and of this one to a file. A program whose SSL_CERT_FILE names
// the file trusts the local registry and the servers that it trusted before.
func (a *Authority) Bundle(path string) error {
	var all []byte
	for _, bundle := range systemBundles {
		data, err := os.ReadFile(bundle)
		if err == nil {
			all = append(data, '\n')
			break
		}
	}
	own, err := certutil.EncodeCertificates(a.pair.Leaf)
	if err != nil {
		return err
	}
	return host.WriteFile(path, append(all, own...), host.Public)
}

// issue completes the template, with a new key, and signs it by the issuer, or by itself if there is none.
func issue(template *x509.Certificate, issuer *tls.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	if issuer == nil {
		issuer = &tls.Certificate{Leaf: template, PrivateKey: key}
	}
	const serialBits = 128
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return tls.Certificate{}, err
	}
	template.NotBefore = time.Now().Add(-time.Hour) // the clock of a machine that just resumed may be behind
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.Leaf, &key.PublicKey, issuer.PrivateKey)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, err
}

// load reads base.crt and base.key, which must belong together.
func load(base string) (tls.Certificate, error) { return tls.LoadX509KeyPair(base+".crt", base+".key") }

// save writes base.key and base.crt.
func save(base string, pair tls.Certificate) error {
	if err := saveKey(base+".key", pair.PrivateKey); err != nil {
		return err
	}
	cert, err := certutil.EncodeCertificates(pair.Leaf)
	if err != nil {
		return err
	}
	return host.WriteFile(base+".crt", cert, host.Public)
}

func saveKey(path string, key any) error {
	content, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return host.WriteFile(path, content, host.Private)
}
