package api

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash"
	"os"
)

// CertificateFiles are paths of PEM files, those that memcached itself reads. Empty ones are not used.
type CertificateFiles struct {
	// CA verifies the server's certificate. With it, connections to memcached use TLS; without it, plain text.
	CA string

	// Certificate and Key are the pair that memcached serves, and that the agent shows to a memcached that asks for one.
	Certificate, Key string

	// ServerName is the DNS name that memcached's certificate has to be for.
	ServerName string
}

// Certificates are the contents of CertificateFiles at one moment. They never change, so the old ones stay usable until
// memcached has read the new ones.
type Certificates struct {
	config      *tls.Config
	leaf        *x509.Certificate
	chain       []*x509.Certificate
	fingerprint string
}

// Read reads the files. It fails if a file is not PEM, and if the key belongs to another certificate; dates, CA and names are
// up to Verify. The kubelet replaces all files of a Secret at once, but a reader of one after the other can get the old
// certificate and the new key: that fails, and succeeds a moment later.
func (f CertificateFiles) Read() (*Certificates, error) {
	return f.ReadFrom(os.ReadFile)
}

// ReadFrom is Read for files that are not on this machine: open gets their paths, and returns their contents.
func (f CertificateFiles) ReadFrom(open func(path string) ([]byte, error)) (*Certificates, error) {
	c, files := f.Unread(), reader{open: open, hash: sha256.New()}
	served, err := files.pair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read memcached's certificate: %w", err)
	}
	if served != nil {
		c.leaf = served.Leaf
		for _, der := range served.Certificate[1:] {
			certificate, err := x509.ParseCertificate(der)
			if err != nil {
				return nil, fmt.Errorf("read the chain in %s: %w", f.Certificate, err)
			}
			c.chain = append(c.chain, certificate)
		}
	}
	authorities, err := files.read(f.CA)
	if err == nil && authorities != nil && !c.config.RootCAs.AppendCertsFromPEM(authorities) {
		err = fmt.Errorf("%s holds no certificate in PEM", f.CA)
	}
	if err != nil {
		return nil, fmt.Errorf("read the CA: %w", err)
	}
	if c.config != nil && served != nil {
		c.config.Certificates = []tls.Certificate{*served}
	}
	c.fingerprint = fmt.Sprintf("%x", files.hash.Sum(nil))
	return c, nil
}

// Unread returns what is known before the files can be read: whether memcached uses TLS. It trusts no certificate.
func (f CertificateFiles) Unread() *Certificates {
	if f.CA == "" {
		return &Certificates{}
	}
	return &Certificates{config: &tls.Config{RootCAs: x509.NewCertPool(), ServerName: f.ServerName, MinVersion: tls.VersionTLS12}}
}

// reader reads files and hashes all that it read. An empty path stands for no file, and reads as nil.
type reader struct {
	open func(path string) ([]byte, error)
	hash hash.Hash
}

func (r reader) read(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := r.open(path)
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = fmt.Errorf("%s is empty", path)
	}
	_, _ = fmt.Fprintf(r.hash, "%d:%s", len(data), data) // Writing to a hash never fails.
	return data, err
}

func (r reader) pair(certificate, key string) (*tls.Certificate, error) {
	certificatePEM, err := r.read(certificate)
	if err != nil || certificatePEM == nil {
		return nil, err
	}
	keyPEM, err := r.read(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are no pair: %w", certificate, key, err)
	}
	return &pair, nil
}

// Fingerprint is equal for two readings if, and only if, the files were.
func (c *Certificates) Fingerprint() string {
	return c.fingerprint
}

// TLS returns the configuration of connections to memcached, nil for plain text. It is shared: clone it before changing it.
func (c *Certificates) TLS() *tls.Config {
	return c.config
}

// Leaf returns the certificate that memcached has to serve, nil without CertificateFiles.Certificate.
func (c *Certificates) Leaf() *x509.Certificate {
	return c.leaf
}

// Intermediates returns the CA certificates that follow the leaf in its file, in a new pool.
func (c *Certificates) Intermediates() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, certificate := range c.chain {
		pool.AddCert(certificate)
	}
	return pool
}
