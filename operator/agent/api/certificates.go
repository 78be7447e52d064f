package api

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"hash"
	"os"
	"time"
)

// CertificateFiles are paths of PEM files. Empty ones are not used.
type CertificateFiles struct {
	// CA is what the server's certificate is verified with. With it, memcached is spoken to over TLS; without it, in plain
	// text.
	CA string

	// Certificate and Key are the pair that memcached serves.
	Certificate, Key string

	// ClientCertificate and ClientKey are the pair that the agent shows to a memcached that asks for one. Without them it
	// is the pair that memcached serves.
	ClientCertificate, ClientKey string

	// ServerName is the DNS name that memcached's certificate has to be for.
	ServerName string
}

// Certificates are what one reading of CertificateFiles found.
type Certificates struct {
	config      *tls.Config
	leaf        *x509.Certificate
	chain       []*x509.Certificate
	fingerprint string
}

// Read reads the files. It fails on what is no PEM, and on a key that belongs to another certificate; it does not look
// at the time, for which there is Check.
func (f CertificateFiles) Read() (*Certificates, error) {
	return f.ReadFrom(os.ReadFile)
}

// ReadFrom is Read for files that are not on this machine: open gets their paths, and returns their contents.
func (f CertificateFiles) ReadFrom(open func(path string) ([]byte, error)) (*Certificates, error) {
	c, files := &Certificates{}, reader{open: open, hash: sha256.New()}
	served, err := files.pair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read memcached's certificate: %w", err)
	}
	if served != nil {
		c.leaf = served.Leaf
		if c.chain, err = intermediates(served); err != nil {
			return nil, fmt.Errorf("read the chain in %s: %w", f.Certificate, err)
		}
	}
	shown, err := files.pair(f.ClientCertificate, f.ClientKey)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate: %w", err)
	}
	if shown == nil {
		shown = served
	}
	roots, err := files.roots(f.CA)
	if err != nil {
		return nil, fmt.Errorf("read the CA: %w", err)
	}
	if roots != nil {
		c.config = &tls.Config{RootCAs: roots, ServerName: f.ServerName, MinVersion: tls.VersionTLS12}
		if shown != nil {
			c.config.Certificates = []tls.Certificate{*shown}
		}
	}
	c.fingerprint = fmt.Sprintf("%x", files.hash.Sum(nil))
	return c, nil
}

// Unread returns what is known before the files can be read: whether memcached speaks TLS. It trusts no certificate.
func (f CertificateFiles) Unread() *Certificates {
	c := &Certificates{}
	if f.CA != "" {
		c.config = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: f.ServerName, MinVersion: tls.VersionTLS12}
	}
	return c
}

// reader reads files and remembers all that it read in a hash. An empty path stands for no file, and reads as nil.
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
	_, _ = fmt.Fprintf(r.hash, "%d:%s", len(data), data) // A hash takes everything.
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

func (r reader) roots(path string) (*x509.CertPool, error) {
	pem, err := r.read(path)
	if err != nil || pem == nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", path)
	}
	return roots, nil
}

func intermediates(pair *tls.Certificate) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for _, der := range pair.Certificate[1:] {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		all = append(all, certificate)
	}
	return all, nil
}

// Fingerprint is the same for two readings exactly if the files were.
func (c *Certificates) Fingerprint() string {
	return c.fingerprint
}

// TLS returns how memcached is spoken to, nil for plain text. It is shared: clone it before changing it.
func (c *Certificates) TLS() *tls.Config {
	return c.config
}

// Leaf returns the certificate that memcached is to serve, nil if the agent was not told of it.
func (c *Certificates) Leaf() *x509.Certificate {
	return c.leaf
}

// Check says why clients could not connect to a memcached that served this certificate at the time now, if so.
func (c *Certificates) Check(now time.Time) error {
	switch {
	case c.leaf == nil:
		return nil
	case now.After(c.leaf.NotAfter):
		return fmt.Errorf("the certificate expired at %s: renew it", c.leaf.NotAfter.Format(time.RFC3339))
	case now.Before(c.leaf.NotBefore):
		return fmt.Errorf("the certificate is valid only from %s: wait, or mend the clock", c.leaf.NotBefore.Format(time.RFC3339))
	case c.config == nil:
		return nil
	}
	options := x509.VerifyOptions{
		DNSName: c.config.ServerName, Roots: c.config.RootCAs, Intermediates: c.Intermediates(), CurrentTime: now,
	}
	if _, err := c.leaf.Verify(options); err != nil {
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			return errors.New("the certificate was not signed by the CA beside it: put the CA that signed it there")
		}
		return err
	}
	return nil
}

// Intermediates returns the certificates of CAs that came with the one that memcached is to serve, in a pool of the
// caller's own.
func (c *Certificates) Intermediates() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, certificate := range c.chain {
		pool.AddCert(certificate)
	}
	return pool
}
