package secrets

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/outcome"
)

// CAKey is the key of a Secret with the CA of a certificate. Those of certificate and key are corev1.TLSCertKey and
// corev1.TLSPrivateKeyKey.
const CAKey = "ca.crt"

// Certificate says why memcached could not use the certificate in the Secret of spec.tls at the time now, or why
// clients that verify it could not connect; nil if they can. serverName is the DNS name that it has to be for; with
// slots, it has to be for *.serverName as well.
func Certificate(
	secret *corev1.Secret, serverName string, slots bool, clientCertificates v1alpha1.ClientCertificates, now time.Time,
) error {
	certificates, err := readCertificates(secret)
	if err == nil {
		err = check(certificates, serverName, slots, now)
	}
	if err == nil && clientCertificates != "" {
		err = checkClient(certificates, secret.Data[CAKey], now)
	}
	if err != nil {
		return outcome.Waiting(v1alpha1.ReasonInvalidCertificate, Recheck,
			fmt.Errorf("spec.tls: the Secret %s cannot be used: %w", secret.Name, err))
	}
	return nil
}

func readCertificates(secret *corev1.Secret) (*agentapi.Certificates, error) {
	keys := agentapi.CertificateFiles{Certificate: corev1.TLSCertKey, Key: corev1.TLSPrivateKeyKey, CA: CAKey}
	certificates, err := keys.ReadFrom(func(key string) ([]byte, error) {
		data, found := secret.Data[key]
		if !found {
			return nil, fmt.Errorf("the key %s is missing", key)
		}
		return data, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: put a certificate into %s, its private key into %s and the CA that signed it into %s, each as PEM",
			err, keys.Certificate, keys.Key, keys.CA)
	}
	return certificates, nil
}

// check says first what is to be mended first. Its messages stay the same while the certificates do, so that a condition
// with them does not change all the time.
func check(certificates *agentapi.Certificates, serverName string, slots bool, now time.Time) error {
	if err := checkTime(certificates.Leaf(), now); err != nil {
		return err
	}
	if err := checkChain(certificates, now); err != nil {
		return err
	}
	return checkNames(certificates.Leaf(), serverName, slots)
}

func checkTime(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("its certificate expired at %s: renew it", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("its certificate is valid only from %s: wait, or issue another one", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// checkChain verifies that the CA has signed the certificate, for servers.
func checkChain(certificates *agentapi.Certificates, now time.Time) error {
	options := x509.VerifyOptions{
		Roots: certificates.TLS().RootCAs, Intermediates: certificates.Intermediates(), CurrentTime: now,
	}
	_, err := certificates.Leaf().Verify(options)
	if err == nil {
		return nil
	}
	if isIncompatible(err) {
		return errors.New(`its certificate is not for servers: issue it with the extended key usage "server auth"`)
	}
	options.CurrentTime = certificates.Leaf().NotBefore
	if _, err := certificates.Leaf().Verify(options); err == nil {
		return fmt.Errorf("a CA that signed its certificate has expired, or is not valid yet: renew the CAs in %s and %s", CAKey, corev1.TLSCertKey)
	}
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return fmt.Errorf("its certificate was not signed by the CA in %s: put the CA that signed it there, and CAs in between into %s, after the certificate",
			CAKey, corev1.TLSCertKey)
	}
	return fmt.Errorf("its certificate cannot be verified with the CA in %s: %w: issue another one", CAKey, err)
}

func checkNames(leaf *x509.Certificate, serverName string, slots bool) error {
	names := []string{serverName}
	if slots {
		names = append(names, "*."+serverName)
	}
	for _, name := range names {
		if leaf.VerifyHostname(name) != nil {
			return fmt.Errorf("its certificate is not for the DNS name %s: issue it for that name as well (a subject alternative name)", name)
		}
	}
	return nil
}

// isIncompatible tells whether the extended key usages do not allow what was asked for.
func isIncompatible(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage
}
