package testing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
)

// ServerName is the name that certificates are for, unless Issue is given others.
const ServerName = "cache.example.com"

// Authority is a CA.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes a CA.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	der, key := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: time.Now().Add(24 * time.Hour),
	}, nil)
	var err error
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	return a
}

// Issue returns the files of a Secret, as cert-manager names them: a new certificate for servers and clients that is valid
// until notAfter, its key and the CA. The certificate is for names, or for ServerName if there are none.
func (a *Authority) Issue(t testing.TB, notAfter time.Time, names ...string) map[string]string {
	t.Helper()
	if len(names) == 0 {
		names = []string{ServerName}
	}
	der, key := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"tls.crt": encode("CERTIFICATE", der), "tls.key": encode("PRIVATE KEY", encoded), "ca.crt": encode("CERTIFICATE", a.certificate.Raw),
	}
}

// sign signs a certificate with a new key, by itself if there is no authority.
func sign(t testing.TB, template *x509.Certificate, by *Authority) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	template.NotBefore = time.Now().Add(-48 * time.Hour)
	parent, parentKey := template, key
	if by != nil {
		parent, parentKey = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Volume is a directory that changes as the kubelet changes a mounted Secret: all files at once, by a symbolic link.
type Volume struct {
	// Path is the directory.
	Path string

	version int
}

// NewVolume returns a volume with files, by name.
func NewVolume(t testing.TB, files map[string]string) *Volume {
	t.Helper()
	v := &Volume{Path: t.TempDir()}
	v.Replace(t, files)
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), v.File(name)); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// File returns the path of a file.
func (v *Volume) File(name string) string {
	return filepath.Join(v.Path, name)
}

// Replace replaces the contents of all files.
func (v *Volume) Replace(t testing.TB, files map[string]string) {
	t.Helper()
	v.version++
	directory := filepath.Join(v.Path, "..version-"+string(rune('a'+v.version)))
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := v.File("..data")
	if err := os.Symlink(filepath.Base(directory), link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
}

// Age makes the files, and the directory, as old as if they had been there for so long.
func (v *Volume) Age(t testing.TB, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	entries, err := os.ReadDir(v.Path)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{v.Path}
	for _, entry := range entries {
		paths = append(paths, v.File(entry.Name()))
	}
	for _, path := range paths {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

// Files returns where the agent finds the certificates of a volume.
func (v *Volume) Files() api.CertificateFiles {
	return api.CertificateFiles{
		CA: v.File("ca.crt"), Certificate: v.File("tls.crt"), Key: v.File("tls.key"), ServerName: ServerName,
	}
}

// TLS returns memcached's arguments for serving a volume's certificate, to clients that show one of the same CA.
func (v *Volume) TLS() []string {
	return []string{"-Z", "-o", "ssl_chain_cert=" + v.File("tls.crt") + ",ssl_key=" + v.File("tls.key") +
		",ssl_ca_cert=" + v.File("ca.crt") + ",ssl_verify_mode=2"}
}
