package secrets_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/desired/secrets"
)

func TestUsers(t *testing.T) {
	const line = "name:hunter2\n"
	for name, test := range map[string]struct {
		files map[string][]byte
		says  []string
	}{
		"one user":                 {files: users("a:b\n")},
		"one without a newline":    {files: users("a:hunter2"), says: []string{"line 1", "does not end with a newline", "memcached 1.6.18 then lets nobody log in"}},
		"two without a newline":    {files: users("a:b\nc:d")},
		"eight users":              {files: users(strings.Repeat(line, 8))},
		"another key":              {files: with(users(line), "password", []byte("x"))},
		"an empty Secret":          {says: []string{`the Secret cache-users lacks the key "users"`, "put lines user:password there"}},
		"no users":                 {files: users(""), says: []string{"names none", "write lines user:password"}},
		"nine users":               {files: users(strings.Repeat(line, 9)), says: []string{"names 9, but memcached takes at most 8", "remove some"}},
		"a line that is empty":     {files: users(line + "\n" + line), says: []string{`line 2 of the key "users"`, "is empty", "remove the line"}},
		"an empty line at the end": {files: users(line + "\n"), says: []string{"line 2", "is empty", "remove the line"}},
		"a line without a colon":   {files: users(line + line + "hunter2\n"), says: []string{"line 3", "has no colon", "write user:password"}},
		"a line without a user":    {files: users(":hunter2\n"), says: []string{"line 1", "lacks the user or the password"}},
		"no password":              {files: users("hunter2:\n"), says: []string{"line 1", "lacks the user or the password"}},
		"a space":                  {files: users("a:the hunter2\n"), says: []string{"line 1", "has a space", "remove it"}},
		"a line that is too long":  {files: users("a:" + strings.Repeat("hunter2", 40)), says: []string{"line 1", "has 282 bytes, but memcached reads at most 254", "shorten"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := secrets.Users(secret("cache-users", test.files), "1.6.18")
			if len(test.says) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			assertWaits(t, err, v1alpha1.ReasonInvalidUsers, append(test.says, "spec.auth: ", "the Secret cache-users")...)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the message gives away what is in the Secret: %v", err)
			}
		})
	}
}

func users(content string) map[string][]byte { return map[string][]byte{"users": []byte(content)} }
