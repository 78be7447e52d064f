package api

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Fault is a reason why clients cannot connect to a memcached that serves a certificate.
type Fault int

// The faults, in the order in which Verify looks for them.
const (
	Expired          Fault = iota // The certificate has expired.
	NotYetValid                   // It is not valid yet.
	NotForServers                 // Its extended key usages lack "server auth".
	AuthorityInvalid              // A CA that signed it has expired, or is not valid yet.
	UnknownAuthority              // None of the CAs signed it.
	Unverifiable                  // It cannot be verified for another reason.
	WrongName                     // It is not for a DNS name.
)

// CertificateError is the result of Certificates.Verify. Its text is that of the agent; the operator words each Fault for a
// Secret.
type CertificateError struct {
	error

	Fault Fault
	Name  string // The DNS name that the certificate is not for, if that is the fault.
}

// Unwrap returns the underlying error, which can be one of crypto/x509.
func (e *CertificateError) Unwrap() error { return e.error }

// Verify returns a CertificateError if clients that trust the CA could not connect, at the time now, to a memcached that
// serves this certificate under all names. Without a CA only the dates are verified, and without a certificate nothing.
func (c *Certificates) Verify(now time.Time, names ...string) error {
	switch {
	case c.leaf == nil:
		return nil
	case now.After(c.leaf.NotAfter):
		return &CertificateError{fmt.Errorf("the certificate expired at %s: renew it", c.leaf.NotAfter.Format(time.RFC3339)), Expired, ""}
	case now.Before(c.leaf.NotBefore):
		return &CertificateError{fmt.Errorf("the certificate is valid only from %s: wait, or mend the clock",
			c.leaf.NotBefore.Format(time.RFC3339)), NotYetValid, ""}
	case c.config == nil:
		return nil
	}
	if err := c.verifyChain(now); err != nil {
		return err
	}
	for _, name := range names {
		if c.leaf.VerifyHostname(name) != nil { // Its error has the names in the certificate, which can be anything.
			return &CertificateError{fmt.Errorf("the certificate is not for the DNS name %s: issue it for that name as well", name), WrongName, name}
		}
	}
	return nil
}

// verifyChain verifies that the CA signed the certificate, for servers.
func (c *Certificates) verifyChain(now time.Time) error {
	options := x509.VerifyOptions{Roots: c.config.RootCAs, Intermediates: c.Intermediates(), CurrentTime: now}
	_, err := c.leaf.Verify(options)
	if err == nil {
		return nil
	}
	failure := &CertificateError{err, Unverifiable, ""}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		failure.Fault = UnknownAuthority
		failure.error = errors.New("the certificate was not signed by the CA beside it: put the CA that signed it there")
	}
	options.CurrentTime = c.leaf.NotBefore
	if _, then := c.leaf.Verify(options); then == nil {
		failure.Fault = AuthorityInvalid
	}
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage {
		failure.Fault = NotForServers
	}
	return failure
}
