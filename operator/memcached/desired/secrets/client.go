package secrets

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
)

// checkClient verifies that memcached, when it asks for client certificates, accepts the one that it serves itself: the
// agent shows it. authorities is the CA in PEM.
func checkClient(certificates *agentapi.Certificates, authorities []byte, now time.Time) error {
	const agent = "and spec.tls.clientCertificates makes memcached ask the operator's agent for one, which shows the same"
	leaf := certificates.Leaf()
	if leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return fmt.Errorf(`its certificate is not for clients, %s: issue it with the key usage "digital signature"`, agent)
	}
	options := x509.VerifyOptions{
		Roots: x509.NewCertPool(), Intermediates: certificates.Intermediates(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, authority := range parseAll(authorities) {
		if bytes.Equal(authority.RawSubject, authority.RawIssuer) {
			options.Roots.AddCert(authority)
		} else {
			options.Intermediates.AddCert(authority)
		}
	}
	_, err := leaf.Verify(options)
	switch {
	case err == nil:
		return nil
	case isIncompatible(err):
		return fmt.Errorf(`its certificate is not for clients, %s: issue it with the extended key usages "server auth" and "client auth"`, agent)
	}
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return fmt.Errorf("the CA in %s was signed by another one, and memcached verifies client certificates only up to a CA that signed itself: "+
			"add that one to %s", CAKey, CAKey)
	}
	return fmt.Errorf("its certificate cannot be verified as that of a client, %s: %w: issue another one", agent, err)
}

// parseAll returns the certificates in PEM; like x509.CertPool it passes over all else.
func parseAll(content []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			all = append(all, certificate)
		}
	}
	return all
}

// isIncompatible tells whether the extended key usages do not allow what was asked for.
func isIncompatible(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage
}
