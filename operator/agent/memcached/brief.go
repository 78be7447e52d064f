package memcached

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"time"
)

// noAnswer stands for every kind of timeout, because it is chance which of them comes first.
const noAnswer = "no answer in time"

// Brief returns the text of an error without what changes each time: addresses with the ports of clients, and the time of
// day. It does not find other text that changes, such as a number of seconds.
func Brief(err error) string {
	text := err.Error()
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return strings.ReplaceAll(text, network.Error(), noAnswer)
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
