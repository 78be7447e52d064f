package api

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// maxUsers is how many users memcached reads from its file. It drops the rest without a word.
const maxUsers = 8

// longestLine is the longest line user:password, in bytes without its end. With a longer one memcached drops the lines that
// follow, and cuts it from 256 on.
const longestLine = 254

// User may use memcached.
type User struct {
	Name, Password string
}

// Users are what one reading of a users file found. Without a file, there are none, and memcached asks for no password.
type Users struct {
	all         []User
	fingerprint string
}

// ReadUsers reads a file of lines user:password. An empty path stands for no file. It refuses what memcached refuses or
// silently reads differently; errors name lines, never what is in them.
func ReadUsers(path string) (*Users, error) {
	if path == "" {
		return &Users{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	users, err := ParseUsers(path, data)
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	return users, nil
}

// ParseUsers is ReadUsers for what has been read already. Errors name the source that is given.
func ParseUsers(source string, data []byte) (*Users, error) {
	u := &Users{fingerprint: fmt.Sprintf("%x", sha256.Sum256(data))}
	for line := range bytes.Lines(data) {
		user, err := parseUser(strings.TrimRight(string(line), "\r\n"))
		if err != nil {
			return nil, fmt.Errorf("line %d of %s %w", len(u.all)+1, source, err)
		}
		u.all = append(u.all, user)
	}
	switch {
	case len(u.all) == 0:
		return nil, fmt.Errorf("%s names none: write lines user:password", source)
	case len(u.all) > maxUsers:
		return nil, fmt.Errorf("%s names %d, but memcached takes at most %d: remove some", source, len(u.all), maxUsers)
	}
	return u, nil
}

func parseUser(line string) (User, error) {
	name, password, found := strings.Cut(line, ":")
	switch {
	case line == "":
		return User{}, errors.New("is empty, for which memcached refuses the file: remove the line")
	case !found:
		return User{}, errors.New("has no colon: write user:password")
	case name == "" || password == "":
		return User{}, errors.New("lacks the user or the password: write user:password")
	case len(line) > longestLine:
		return User{}, fmt.Errorf("has %d bytes, but memcached reads at most %d: shorten the password", len(line), longestLine)
	case strings.ContainsAny(line, " \r\x00"):
		return User{}, errors.New("has a space, carriage return or NUL, with which nobody can log in: remove it")
	}
	return User{Name: name, Password: password}, nil
}

// Fingerprint is the same for two readings exactly if the files were.
func (u *Users) Fingerprint() string {
	return u.fingerprint
}

// First returns the user that the agent logs in as, false if memcached asks for none.
func (u *Users) First() (User, bool) {
	if len(u.all) == 0 {
		return User{}, false
	}
	return u.all[0], true
}

// All returns every user. Do not change it.
func (u *Users) All() []User {
	return u.all
}

// Missing returns those of u that later has not, or has with another password.
func (u *Users) Missing(later *Users) []User {
	return slices.DeleteFunc(slices.Clone(u.all), func(user User) bool { return slices.Contains(later.all, user) })
}
