package api_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

func TestInvalidCertificatesAreFound(t *testing.T) {
	authority, other := agenttesting.NewAuthority(t), agenttesting.NewAuthority(t)
	good := authority.Issue(t, time.Now().Add(time.Hour))
	with := func(change map[string]string) map[string]string {
		files := maps.Clone(good)
		maps.Copy(files, change)
		return files
	}
	for name, test := range map[string]struct {
		files      map[string]string
		serverName string
		says       string
	}{
		"a sound pair":              {files: good},
		"the key of another":        {files: with(map[string]string{"tls.key": other.Issue(t, time.Now().Add(time.Hour))["tls.key"]}), says: "are no pair"},
		"an empty certificate":      {files: with(map[string]string{"tls.crt": ""}), says: "tls.crt is empty"},
		"an empty CA":               {files: with(map[string]string{"ca.crt": "\n"}), says: "ca.crt is empty"},
		"a CA that is none":         {files: with(map[string]string{"ca.crt": "nonsense"}), says: "ca.crt holds no certificate"},
		"a CA that did not sign it": {files: with(map[string]string{"ca.crt": other.Issue(t, time.Now())["ca.crt"]}), says: "not signed by the CA"},
		"one that expired":          {files: authority.Issue(t, time.Now().Add(-time.Hour)), says: "expired at"},
		"one for another name":      {files: good, serverName: "other.example.com", says: "other.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			files := agenttesting.NewVolume(t, test.files).Files()
			if test.serverName != "" {
				files.ServerName = test.serverName
			}
			certificates, err := files.Read()
			if err == nil {
				err = certificates.Verify(time.Now(), files.ServerName)
			}
			if test.says == "" && err != nil {
				t.Errorf("a sound pair is refused: %v", err)
			}
			if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("the error is %v, want one with %q", err, test.says)
			}
		})
	}
}

func TestTheFingerprintChangesWithEveryFile(t *testing.T) {
	authority, other := agenttesting.NewAuthority(t), agenttesting.NewAuthority(t)
	volume := agenttesting.NewVolume(t, authority.Issue(t, time.Now().Add(time.Hour)))
	read := func() string {
		certificates, err := volume.Files().Read()
		if err != nil {
			t.Fatal(err)
		}
		return certificates.Fingerprint()
	}
	first := read()
	if first != read() {
		t.Error("the fingerprint changes by itself")
	}
	files := authority.Issue(t, time.Now().Add(time.Hour))
	volume.Replace(t, files)
	second := read()
	files["ca.crt"] += other.Issue(t, time.Now())["ca.crt"]
	volume.Replace(t, files)
	if third := read(); first == second || second == third {
		t.Errorf("a change does not show: %s, %s, %s", first, second, third)
	}
}
