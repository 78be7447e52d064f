package memcached

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"time"
)

// late is what every kind of timeout is called, because it is chance which of them comes first.
const late = "no answer in time"

// Brief returns what an error says without that which differs from one time to the next: addresses with the ports of
// clients, and the time of day. What is said of one occasion in every case, such as a number of seconds, is not found.
func Brief(err error) string {
	text := err.Error()
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return strings.ReplaceAll(text, network.Error(), late)
	}
	var operation *net.OpError
	if errors.As(err, &operation) {
		text = strings.ReplaceAll(text, operation.Error(), operation.Err.Error())
	}
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		text = strings.ReplaceAll(text, invalid.Error(), "the certificate is valid only from "+
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339)+" to "+invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
	}
	return text
}
