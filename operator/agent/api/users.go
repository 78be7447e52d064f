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

// maxUsers is how many users memcached reads from its file. It ignores the rest without an error.
const maxUsers = 8

// maxLineLength is for a line user:password, in bytes without the line ending. After a longer line memcached ignores those that
// follow, and from 256 bytes on it truncates the line.
const maxLineLength = 254

// firstUnterminated is the first version of memcached, in numbers, that is known to let in the user of a file with one line that does not
// end with a newline, or has a carriage return before it. 1.6.18 lets in nobody then, or does not start. It reads a file of two lines that
// end like that. What lies between these versions was not measured.
var firstUnterminated = []int{1, 6, 38}

// User is allowed to log in to memcached.
type User struct {
	Name, Password string
}

// Users are the contents of a users file at one moment. They never change. Without a file there are none, and memcached asks
// for no password.
type Users struct {
	all         []User
	fingerprint string
	source      string
	ending      string // What older versions of memcached do not take about the end of the only line; empty if there is nothing.
}

// ReadUsers reads a file of lines user:password. An empty path stands for no file. It refuses what memcached refuses or
// silently reads differently. Errors name the number of a line, never its contents.
func ReadUsers(path string) (*Users, error) {
	if path == "" {
		return &Users{}, nil
	}
	var users *Users
	data, err := os.ReadFile(path)
	if err == nil {
		users, err = ParseUsers(path, data)
	}
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	return users, nil
}

// ParseUsers is ReadUsers for data that has been read already. Errors name the source.
func ParseUsers(source string, data []byte) (*Users, error) {
	u := &Users{fingerprint: fmt.Sprintf("%x", sha256.Sum256(data)), source: source}
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
	switch {
	case len(u.all) > 1:
	case !bytes.HasSuffix(data, []byte("\n")):
		u.ending = "does not end with a newline"
	case bytes.HasSuffix(data, []byte("\r\n")):
		u.ending = "has a carriage return at its end"
	}
	return u, nil
}

// Unterminated tells whether there is one line, which does not end with a newline, or has a carriage return before it.
func (u *Users) Unterminated() bool {
	return u.ending != ""
}

// CheckVersion returns why a version of memcached would let nobody in with these users. It returns nil if it lets them in, or if the
// version is unknown.
func (u *Users) CheckVersion(version string) error {
	numbers := make([]int, 3)
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]); err != nil ||
		u.ending == "" || slices.Compare(numbers, firstUnterminated) >= 0 {
		return nil
	}
	return fmt.Errorf("line 1 of %s is the only one and %s, and memcached %s then lets nobody log in: "+
		"end the line with a newline, or use memcached %d.%d.%d or newer",
		u.source, u.ending, version, firstUnterminated[0], firstUnterminated[1], firstUnterminated[2])
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
	case len(line) > maxLineLength:
		return User{}, fmt.Errorf("has %d bytes, but memcached reads at most %d: shorten the password", len(line), maxLineLength)
	case strings.ContainsAny(line, " \r\x00"):
		return User{}, errors.New("has a space, carriage return or NUL, with which nobody can log in: remove it")
	}
	return User{Name: name, Password: password}, nil
}

// Fingerprint is equal for two readings if, and only if, the files were.
func (u *Users) Fingerprint() string {
	return u.fingerprint
}

// First returns the user that the agent logs in as, false if there are no users.
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

// Missing returns the users that are not in later, or have another password there.
func (u *Users) Missing(later *Users) []User {
	return slices.DeleteFunc(slices.Clone(u.all), func(user User) bool { return slices.Contains(later.all, user) })
}
