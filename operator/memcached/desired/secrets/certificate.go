package secrets

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// CAKey is the key of a Secret with the CA of a certificate. Those of certificate and key are corev1.TLSCertKey and
// corev1.TLSPrivateKeyKey.
const CAKey = "ca.crt"

// Certificate says why memcached could not use the certificate in the Secret of spec.tls at the time now, or why
// clients that verify it could not connect; nil if they can. The certificate must be for the DNS name serverName, and for
// *.serverName as well if the pods have stable names.
func Certificate(
	secret *corev1.Secret, serverName string, stablePods bool, clientCertificates v1alpha1.ClientCertificates, now time.Time,
) error {
	certificates, err := readCertificates(secret)
	if err == nil {
		err = check(certificates, serverName, stablePods, now)
	}
	if err == nil && clientCertificates != "" {
		err = checkClient(certificates, secret.Data[CAKey], now)
	}
	if err != nil {
		return reconcileerror.Waiting(v1alpha1.ReasonInvalidCertificate, Recheck,
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

// check says first what to fix first. Its messages stay the same while the certificates do, so that a condition
// with them does not change all the time.
func check(certificates *agentapi.Certificates, serverName string, stablePods bool, now time.Time) error {
	names := []string{serverName}
	if stablePods {
		names = append(names, "*."+serverName)
	}
	err := certificates.Verify(now, names...)
	var invalid *agentapi.CertificateError
	if !errors.As(err, &invalid) {
		return err
	}
	leaf := certificates.Leaf()
	switch invalid.Fault {
	case agentapi.Expired:
		return fmt.Errorf("its certificate expired at %s: renew it", leaf.NotAfter.UTC().Format(time.RFC3339))
	case agentapi.NotYetValid:
		return fmt.Errorf("its certificate is valid only from %s: wait, or issue another one", leaf.NotBefore.UTC().Format(time.RFC3339))
	case agentapi.NotForServers:
		return errors.New(`its certificate is not for servers: issue it with the extended key usage "server auth"`)
	case agentapi.AuthorityInvalid:
		return fmt.Errorf("a CA that signed its certificate has expired, or is not valid yet: renew the CAs in %s and %s", CAKey, corev1.TLSCertKey)
	case agentapi.UnknownAuthority:
		return fmt.Errorf("its certificate was not signed by the CA in %s: put the CA that signed it there, and CAs in between into %s, after the certificate",
			CAKey, corev1.TLSCertKey)
	case agentapi.WrongName:
		return fmt.Errorf("its certificate is not for the DNS name %s: issue it for that name as well (a subject alternative name)", invalid.Name)
	}
	return fmt.Errorf("its certificate cannot be verified with the CA in %s: %w: issue another one", CAKey, err)
}
