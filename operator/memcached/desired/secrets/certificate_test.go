package secrets_test

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired/secrets"
)

const serverName = "cache-nodes.default.svc"

const (
	optional = v1alpha1.ClientCertificatesOptional
	required = v1alpha1.ClientCertificatesRequired
)

func TestCertificate(t *testing.T) {
	root, other := issue(t, nil, now, ca), issue(t, nil, now, ca)
	between := issue(t, root, now, ca)
	by := func(signer *authority, changes ...func(*x509.Certificate)) *authority {
		return issue(t, signer, now, func(c *x509.Certificate) {
			leaf(serverName, "*."+serverName)(c)
			for _, change := range changes {
				change(c)
			}
		})
	}
	one := func(changes ...func(*x509.Certificate)) map[string][]byte {
		return files(t, []*authority{by(root, changes...)}, []*authority{root})
	}
	usage := func(usages ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtKeyUsage = usages }
	}
	valid := func(from, until time.Duration) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = now.Add(from), now.Add(until) }
	}
	old := issue(t, nil, now, func(c *x509.Certificate) { ca(c); valid(-24*time.Hour, -time.Second)(c) })
	elsewhere := issue(t, nil, now, func(c *x509.Certificate) { ca(c); c.PermittedDNSDomains = []string{"example.com"} })
	good, nameless := one(), one(leaf(serverName))
	for name, test := range map[string]struct {
		files   map[string][]byte
		slots   bool
		clients v1alpha1.ClientCertificates
		says    []string
	}{
		"a sound one":                          {files: good},
		"a sound one for slots":                {files: good, slots: true},
		"a sound one for clients":              {files: good, slots: true, clients: required},
		"one without a usage":                  {files: one(usage()), clients: required},
		"one for servers, and nobody asks":     {files: one(usage(x509.ExtKeyUsageServerAuth))},
		"one by a CA in between":               {files: files(t, []*authority{by(between), between}, []*authority{root}), clients: required},
		"one by a CA in between, beside root":  {files: files(t, []*authority{by(between)}, []*authority{between, root}), clients: required},
		"one by a CA in between, nobody asks":  {files: files(t, []*authority{by(between)}, []*authority{between})},
		"one for each slot, which are more":    {files: one(leaf(serverName, "cache-0."+serverName)), slots: true, says: []string{"not for the DNS name *." + serverName}},
		"one that ends this second":            {files: one(valid(-time.Hour, 0))},
		"one that begins this second":          {files: one(valid(0, time.Hour))},
		"more in ca.crt than the CA":           {files: files(t, []*authority{by(root)}, []*authority{other, root}), clients: required},
		"another key in the Secret":            {files: with(good, "keystore.p12", []byte("x"))},
		"one for the Service, and not slots":   {files: nameless},
		"an empty Secret":                      {files: nil, says: []string{"the key tls.crt is missing", "put a certificate into tls.crt"}},
		"no certificate":                       {files: with(good, "tls.crt", nil), says: []string{"the key tls.crt is missing"}},
		"no key":                               {files: with(good, "tls.key", nil), says: []string{"the key tls.key is missing", "its private key into tls.key"}},
		"no CA":                                {files: with(good, "ca.crt", nil), says: []string{"the key ca.crt is missing", "the CA that signed it into ca.crt"}},
		"an empty certificate":                 {files: with(good, "tls.crt", []byte{}), says: []string{"tls.crt is empty"}},
		"an empty CA":                          {files: with(good, "ca.crt", []byte("\n")), says: []string{"ca.crt is empty"}},
		"a certificate that is none":           {files: with(good, "tls.crt", []byte("hello")), says: []string{"tls.crt and tls.key are no pair", "each as PEM"}},
		"a key that is none":                   {files: with(good, "tls.key", []byte("hello")), says: []string{"tls.crt and tls.key are no pair", "each as PEM"}},
		"a CA that is none":                    {files: with(good, "ca.crt", []byte("hello")), says: []string{"ca.crt holds no certificate in PEM"}},
		"the key of another":                   {files: with(good, "tls.key", one()["tls.key"]), says: []string{"tls.crt and tls.key are no pair", "does not match"}},
		"one that has expired":                 {files: one(valid(-time.Hour, -time.Second)), says: []string{"expired at 2031-05-06T07:08:08Z", "renew it"}},
		"one that is not valid yet":            {files: one(valid(time.Second, time.Hour)), says: []string{"only from 2031-05-06T07:08:10Z", "wait"}},
		"the CA of another":                    {files: with(good, "ca.crt", encode(other)), says: []string{"not signed by the CA in ca.crt", "put the CA that signed it there"}},
		"a CA in between that is missing":      {files: files(t, []*authority{by(between)}, []*authority{root}), says: []string{"not signed by the CA in ca.crt", "CAs in between into tls.crt"}},
		"a CA that has expired":                {files: files(t, []*authority{by(old)}, []*authority{old}), says: []string{"a CA that signed its certificate has expired", "renew the CAs"}},
		"a CA that is not for that name":       {files: files(t, []*authority{by(elsewhere)}, []*authority{elsewhere}), says: []string{"cannot be verified with the CA", "issue another one"}},
		"one for another name":                 {files: one(leaf("other.default.svc")), says: []string{"not for the DNS name " + serverName, "issue it for that name as well"}},
		"one with the name in the subject":     {files: one(leaf(), func(c *x509.Certificate) { c.Subject.CommonName = serverName }), says: []string{"not for the DNS name " + serverName, "subject alternative name"}},
		"one for the Service, not for slots":   {files: nameless, slots: true, says: []string{"not for the DNS name *." + serverName}},
		"one for clients alone":                {files: one(usage(x509.ExtKeyUsageClientAuth)), says: []string{`not for servers`, `"server auth"`}},
		"one for servers alone, required":      {files: one(usage(x509.ExtKeyUsageServerAuth)), clients: required, says: []string{"not for clients", `"client auth"`}},
		"one for servers alone, optional":      {files: one(usage(x509.ExtKeyUsageServerAuth)), clients: optional, says: []string{"not for clients", `"client auth"`}},
		"one that must not sign, required":     {files: one(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }), clients: required, says: []string{"not for clients", `"digital signature"`}},
		"one by a CA whose own CA is missing":  {files: files(t, []*authority{by(between)}, []*authority{between}), clients: optional, says: []string{"the CA in ca.crt was signed by another one", "add that one to ca.crt"}},
		"one whose wildcard is one level less": {files: one(leaf("*.default.svc")), slots: true, says: []string{"not for the DNS name *." + serverName}},
	} {
		t.Run(name, func(t *testing.T) {
			err := secrets.Certificate(secret("cache-tls", test.files), serverName, test.slots, test.clients, now)
			if len(test.says) > 0 {
				assertWaits(t, err, v1alpha1.ReasonInvalidCertificate, append(test.says, "spec.tls: the Secret cache-tls cannot be used: ")...)
				assertStable(t, err, func(later time.Time) error {
					return secrets.Certificate(secret("cache-tls", test.files), serverName, test.slots, test.clients, later)
				})
				return
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// assertWaits fails unless the error is one that passes when the Secret changes, and says all that is given in one line.
func assertWaits(t *testing.T, err error, reason string, says ...string) {
	t.Helper()
	if class, got := reconcileerror.Describe(err); class != reconcileerror.Delayed || got != reason {
		t.Fatalf("it is %s %s: %v", class, got, err)
	}
	if result, _ := reconcileerror.Resolve(err); result.RequeueAfter != 10*time.Second {
		t.Errorf("it is looked at again after %s", result.RequeueAfter)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the message has more than one line: %v", err)
	}
}

// assertStable fails if the message is another one a little later: a condition that has it would be written all the time.
func assertStable(t *testing.T, err error, again func(time.Time) error) {
	t.Helper()
	if later := again(now.Add(100 * time.Millisecond)); fmt.Sprint(later) != err.Error() {
		t.Errorf("it says %q now and %q later", err, later)
	}
}
