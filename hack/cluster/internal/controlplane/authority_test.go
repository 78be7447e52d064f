package controlplane

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	authority, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func ensure(t *testing.T, authority *Authority, want Certificate) {
	t.Helper()
	if err := authority.Ensure(want); err != nil {
		t.Fatal(err)
	}
}

var server = Certificate{Name: "server", User: "server", Groups: []string{"group"}, DNS: []string{"localhost"}, IPs: []string{"127.0.0.1"}}

func TestCertificatesAreTrustedForTheirNames(t *testing.T) {
	dir := t.TempDir()
	ensure(t, open(t, dir), server)
	pair, err := load(filepath.Join(dir, "server"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(t, dir, "ca.crt"))
	for _, name := range []string{"localhost", "127.0.0.1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASecondRunKeepsGoodCertificates(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	ensure(t, first, server)
	if err := first.ServiceAccountKey(); err != nil {
		t.Fatal(err)
	}
	files := []string{"ca.crt", "server.crt", "sa.key"}
	var before [][]byte
	for _, file := range files {
		before = append(before, read(t, dir, file))
	}
	second := open(t, dir)
	ensure(t, second, server)
	if err := second.ServiceAccountKey(); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		if !bytes.Equal(before[i], read(t, dir, file)) {
			t.Errorf("%s was replaced without need", file)
		}
	}
}

func TestACertificateIsReplacedWhenItIsWrong(t *testing.T) {
	dir := t.TempDir()
	authority := open(t, dir)
	ensure(t, authority, server)
	before := read(t, dir, "server.crt")

	changed := server
	changed.IPs = []string{"198.18.0.1"}
	ensure(t, authority, changed)
	if bytes.Equal(before, read(t, dir, "server.crt")) {
		t.Error("a certificate without the new address was kept")
	}

	before = read(t, dir, "server.crt")
	for _, file := range []string{"ca.crt", "ca.key"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	ensure(t, open(t, dir), changed)
	if bytes.Equal(before, read(t, dir, "server.crt")) {
		t.Error("a certificate of another authority was kept")
	}
}

func TestOnlyTheOwnerMayReadKeys(t *testing.T) {
	dir := t.TempDir()
	ensure(t, open(t, dir), server)
	for _, file := range []string{"ca.key", "server.key"} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %v", file, info.Mode())
		}
	}
}
