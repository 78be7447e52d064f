package registry

import "testing"

func TestLocalKeepsTheRepositoryWhateverTheRegistry(t *testing.T) {
	const digest = "@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"
	for official, want := range map[string]string{
		"quay.io/operator-framework/opm:latest":      "localhost:5000/operator-framework/opm:latest",
		"docker.io/library/memcached:1.6.18":         "localhost:5000/library/memcached:1.6.18",
		"docker.io/library/memcached" + digest:       "localhost:5000/library/memcached" + digest,
		"localhost:5000/memcached-operator/pause:1":  "localhost:5000/memcached-operator/pause:1",
		"registry.access.redhat.com/ubi9/ubi:9.7":    "localhost:5000/ubi9/ubi:9.7",
		"quay.io/example/memcached-operator-catalog": "localhost:5000/example/memcached-operator-catalog:latest",
	} {
		got, err := local(official)
		if err != nil || got.Name() != want {
			t.Errorf("%s is served as %v (%v), want %s", official, got, err, want)
		}
	}
	if _, err := local("not a reference"); err == nil {
		t.Error("nonsense was accepted")
	}
}
