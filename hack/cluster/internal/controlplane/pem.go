package controlplane

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

// systemBundles are the places where Linux distributions keep the system's certificate authorities.
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", // Debian, Arch
	"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora
	"/etc/ssl/ca-bundle.pem",             // openSUSE
}

// Bundle writes a file with the system's certificate authorities and this one: a program whose SSL_CERT_FILE names it
// trusts the local registry without losing the rest of the world.
func (a *Authority) Bundle(path string) error {
	var all []byte
	for _, bundle := range systemBundles {
		data, err := os.ReadFile(bundle)
		if err == nil {
			all = append(data, '\n')
			break
		}
	}
	all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	return host.WriteFile(path, all, host.Public)
}

// save writes base.key and base.crt.
func save(base string, cert *x509.Certificate, key *ecdsa.PrivateKey) error {
	if err := writeKey(base+".key", key); err != nil {
		return err
	}
	return writePEM(base+".crt", "CERTIFICATE", cert.Raw, host.Public)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return writePEM(path, "EC PRIVATE KEY", der, host.Private)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return host.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}

// load reads base.crt and base.key and checks that they belong together.
func load(base string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certDER, err := readPEM(base + ".crt")
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s.crt: %w", base, err)
	}
	keyDER, err := readPEM(base + ".key")
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(keyDER)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s.key: %w", base, err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, nil, errors.New(base + ": key and certificate do not belong together")
	}
	return cert, key, nil
}

func readPEM(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return block.Bytes, nil
}
