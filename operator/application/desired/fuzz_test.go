package desired

import (
	"strings"
	"testing"
)

// Two namespaces are in conflict if, and only if, there is a request that both would get; the order of the two makes no difference.
func FuzzConflict(f *testing.F) {
	for _, seed := range [][4]string{
		{"a.example.com", "/", "a.example.com", "/shop"}, {"a.example.com", "/shop", "a.example.com", "/shopping"}, {"*.example.com", "/", "a.example.com", "/shop/"},
		{"*.example.com", "/a", "*.example.com", "/b"}, {"example.com", "/", "*.example.com", "/"}, {"a.b.example.com", "/", "*.example.com", "/"}, {"", "", "", "/"}, {"*.com", "/", "*.example.com", "/"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, host, path, otherHost, otherPath string) {
		for _, part := range []string{path, otherPath} {
			if !strings.HasPrefix(part, "/") || strings.Contains(part, "//") {
				return // The API server refuses it.
			}
		}
		for _, name := range []string{host, otherHost} {
			if rest := strings.TrimPrefix(name, wildcard); rest == "" || strings.HasPrefix(rest, ".") || strings.Contains(rest, "*") {
				return // As above.
			}
		}
		one, other := addressOf(host, path), addressOf(otherHost, otherPath)
		got := Conflict("mine", one, "theirs", other)
		if got != Conflict("theirs", other, "mine", one) {
			t.Errorf("%v and %v: %t one way only", one, other, got)
		}
		if want := sharesRequest(host, path, otherHost, otherPath); got != want {
			t.Errorf("%v and %v: %t", one, other, got)
		}
		if !Conflict("mine", one, "theirs", one) || !Conflict("mine", one, "mine", one) {
			t.Errorf("%v is not in conflict with itself", one)
		}
	})
}

// sharesRequest tries requests for each of the hosts and paths.
func sharesRequest(host, path, otherHost, otherPath string) bool {
	gets := func(host, path, askedHost, askedPath string) bool {
		_, domain, _ := strings.Cut(askedHost, ".")
		return (host == askedHost || host == wildcard+domain) &&
			(strings.TrimSuffix(path, "/") == strings.TrimSuffix(askedPath, "/") || strings.HasPrefix(askedPath, strings.TrimSuffix(path, "/")+"/"))
	}
	for _, askedHost := range []string{strings.Replace(host, "*", "any", 1), strings.Replace(otherHost, "*", "any", 1)} {
		for _, askedPath := range []string{path, otherPath} {
			if gets(host, path, askedHost, askedPath) && gets(otherHost, otherPath, askedHost, askedPath) {
				return true
			}
		}
	}
	return false
}
