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
	Fault Fault

	// Name is the DNS name that the certificate is not for, if that is the fault.
	Name string

	// Err is what is wrong.
	Err error
}

// Error implements error.
func (e *CertificateError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *CertificateError) Unwrap() error { return e.Err }

// Verify returns a CertificateError if clients that trust the CA could not connect, at the time now, to a memcached that
// serves this certificate under all names. Without a CA only the dates are verified, and without a certificate nothing.
func (c *Certificates) Verify(now time.Time, names ...string) error {
	switch {
	case c.leaf == nil:
		return nil
	case now.After(c.leaf.NotAfter):
		return &CertificateError{Fault: Expired, Err: fmt.Errorf("the certificate expired at %s: renew it", c.leaf.NotAfter.Format(time.RFC3339))}
	case now.Before(c.leaf.NotBefore):
		return &CertificateError{Fault: NotYetValid, Err: fmt.Errorf("the certificate is valid only from %s: wait, or mend the clock",
			c.leaf.NotBefore.Format(time.RFC3339))}
	case c.config == nil:
		return nil
	}
	if err := c.verifyChain(now); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.leaf.VerifyHostname(name); err != nil {
			return &CertificateError{Fault: WrongName, Name: name, Err: err}
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
	failure := &CertificateError{Fault: Unverifiable, Err: err}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		failure.Fault = UnknownAuthority
		failure.Err = errors.New("the certificate was not signed by the CA beside it: put the CA that signed it there")
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
