package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/agent/api"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

func TestUsersAreReadAsMemcachedReadsThem(t *testing.T) {
	long := strings.Repeat("p", 252)
	for name, test := range map[string]struct {
		content string
		want    []api.User
		says    string
	}{
		"two users":               {content: "a:b\nc:d\n", want: []api.User{{"a", "b"}, {"c", "d"}}},
		"a colon in the password": {content: "a:b:c\n", want: []api.User{{"a", "b:c"}}},
		"lines of Windows":        {content: "a:b\r\nc:d\r\n", want: []api.User{{"a", "b"}, {"c", "d"}}},
		"no newline at the end":   {content: "a:b", want: []api.User{{"a", "b"}}},
		"the longest line":        {content: "a:" + long + "\n", want: []api.User{{"a", long}}},
		"a line that is cut":      {content: "a:" + long + "p\n", says: "has 255 bytes"},
		"no line":                 {content: "", says: "names none"},
		"an empty line":           {content: "a:b\n\nc:d\n", says: "line 2"},
		"no colon":                {content: "a:b\nsecret\n", says: "line 2"},
		"no password":             {content: "secret:\n", says: "lacks the user or the password"},
		"no user":                 {content: ":secret\n", says: "lacks the user or the password"},
		"a space in the password": {content: "a:the secret\n", says: "has a space"},
		"nine users":              {content: strings.Repeat("a:secret\n", 9), says: "names 9, but memcached takes at most 8"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "users")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			users, err := api.ReadUsers(path)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("the error is %v, want one with %q", err, test.says)
				} else if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error gives away what is in the file: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, users.All()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithoutAUsersFileNobodyLogsIn(t *testing.T) {
	users, err := api.ReadUsers("")
	if err != nil {
		t.Fatal(err)
	}
	if user, ok := users.First(); ok {
		t.Errorf("%q logs in", user.Name)
	}
}

func TestMissingUsersAreThoseWhoCannotGetInAnyMore(t *testing.T) {
	read := func(content string) *api.Users {
		path := filepath.Join(t.TempDir(), "users")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		users, err := api.ReadUsers(path)
		if err != nil {
			t.Fatal(err)
		}
		return users
	}
	got := read("stays:1\nchanges:1\ngoes:1\n").Missing(read("changes:2\nstays:1\ncomes:1\n"))
	if diff := cmp.Diff([]api.User{{"changes", "1"}, {"goes", "1"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCertificatesThatMemcachedMustNotReadAreFound(t *testing.T) {
	authority, other := agenttesting.NewAuthority(t), agenttesting.NewAuthority(t)
	good := authority.Issue(t, time.Now().Add(time.Hour))
	with := func(change map[string]string) map[string]string {
		files := map[string]string{}
		for name, content := range good {
			files[name] = content
		}
		for name, content := range change {
			files[name] = content
		}
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
				err = certificates.Check(time.Now())
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
