package registry

import "testing"

func TestVersionComesFromThePackagesName(t *testing.T) {
	packages := []string{"/x/libc6_2.36-9_amd64.deb", "/x/memcached_1.6.18-1+b1_amd64.deb"}
	if got, err := MemcachedVersion(packages); got != "1.6.18" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := MemcachedVersion(packages[:1]); err == nil {
		t.Error("a version without a memcached package")
	}
}

func TestMemcachedReplacementsPinTheFirstVersionAndTheNewest(t *testing.T) {
	got, err := MemcachedReplacements(map[string]string{"1.6.18": "sha256:old", "1.6.9": "sha256:older", "1.6.38": "sha256:new"})
	if err != nil {
		t.Fatal(err)
	}
	if got[official1618] != memcachedRepository+"@sha256:old" || got[official1645] != memcachedRepository+"@sha256:new" {
		t.Errorf("got %v", got)
	}
	if _, err := MemcachedReplacements(map[string]string{"1.6.38": "sha256:new"}); err == nil {
		t.Error("a map without 1.6.18 was accepted")
	}
}
