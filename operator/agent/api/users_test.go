package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
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
					t.Errorf("the error quotes the file: %v", err)
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

func TestNobodyLogsInWithoutAUsersFile(t *testing.T) {
	users, err := api.ReadUsers("")
	if err != nil {
		t.Fatal(err)
	}
	if user, ok := users.First(); ok {
		t.Errorf("%q logs in", user.Name)
	}
}

func TestMissingUsersAreRemovedOrHaveAnotherPassword(t *testing.T) {
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

// memcached lets in all users of a file that is parsed without an error, and not all of the others.
func TestMemcachedLetsInTheUsersThatAreParsed(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		for name, content := range map[string]string{
			"eight":            "a:1\nb:2\nc:3\nd:4\ne:5\nf:6\ng:7\nh:8\n",
			"nine":             "a:1\nb:2\nc:3\nd:4\ne:5\nf:6\ng:7\nh:8\ni:9\n",
			"the longest line": "a:" + strings.Repeat("p", 252) + "\nb:2",
			"a longer line":    "a:" + strings.Repeat("p", 253) + "\nb:2",
			"colons":           "a:1:2:3\n",
			"lines of Windows": "a:1\r\nb:2\r\n",
			"a user in two":    "a:1\na:2\n",
			"one, no newline":  "a:1",
			"two, no newline":  "a:1\nb:2",
		} {
			t.Run(name, func(t *testing.T) {
				users, refused := api.ParseUsers("the file", []byte(content))
				if refused == nil {
					refused = users.CheckVersion(run.Version)
				}
				if failed := logIn(t, run, content); (refused != nil) != (failed != nil) {
					t.Errorf("the error is %v, but logging in gives %v", refused, failed)
				}
			})
		}
	})
}

func TestOneUserWithoutANewlineNeedsANewerMemcached(t *testing.T) {
	users, err := api.ParseUsers("the file", []byte("a:secret"))
	if err != nil {
		t.Fatal(err)
	}
	for version, refused := range map[string]bool{
		"1.6.18": true, "1.6.37": true, "1.5.99": true, "1.6.38": false, "1.6.45": false, "1.7.0": false, "": false, "latest": false,
	} {
		err := users.CheckVersion(version)
		if (err != nil) != refused {
			t.Errorf("with memcached %q the error is %v", version, err)
		}
	}
	const want = "line 1 of the file is the only one and does not end with a newline, and memcached 1.6.18 then lets nobody log in: " +
		"end the line with a newline, or use memcached 1.6.38 or newer"
	if err := users.CheckVersion("1.6.18"); err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
	// memcached 1.6.18 does not even start with such a line.
	if users, err = api.ParseUsers("the file", []byte("a:secret\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := users.CheckVersion("1.6.18"); err == nil || !strings.Contains(err.Error(), "has a carriage return at its end") {
		t.Errorf("the error is %v", err)
	}
}

// logIn starts memcached with users, and logs in as each of them.
func logIn(t *testing.T, run agenttesting.Runner, content string) error {
	t.Helper()
	server := run.Start(t, "-Y", agenttesting.NewVolume(t, map[string]string{"users": content}).File("users"))
	dialer := memcached.NewDialer(server.Address, &api.Certificates{}, &api.Users{})
	for line := range strings.Lines(content) {
		name, password, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		conn, err := dialer.DialAs(t.Context(), api.User{Name: name, Password: password})
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
	return nil
}
