//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/clients"
)

// bindings is the namespace of a cache that is used through its binding.
const bindings = "e2e-binding"

// envFrom is the line in olm/production.md that gives a container the binding.
const envFrom = "envFrom: [{secretRef: {name: sessions-binding}}]"

// boundItems is how many items the container stores.
const boundItems = 100

// A container gets the binding by the line on the page, and finds the cache by these variables alone.
func usedByBinding(t *testing.T) {
	ctx := t.Context()
	page, err := os.ReadFile(filepath.Join(suite.root, "olm", "production.md"))
	must(t, err)
	contains(t, string(page), "`"+envFrom+"`")
	namespace(t, bindings)
	p := produceAs(t, types.NamespacedName{Namespace: bindings, Name: "sessions"}, 1, "workload: StatefulSet")
	must(t, applyManifest(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: %s}
spec:
  restartPolicy: Never
  containers:
  - name: client
    image: docker.io/library/memcached:1.6.38   # Of the local cluster, with sh and nc.
    %s
    command: [sh, -c]
    args:
    - |
      set -e
      echo "$type of $provider at $uri"
      i=0
      while [ $i -lt %d ]; do
        printf 'set item-%%d 0 0 4\r\n%%04d\r\nget item-%%d\r\n' $i $i $i
        i=$((i + 1))
      done > requests
      printf 'quit\r\n' >> requests
      nc "$host" "$port" < requests
    workingDir: /tmp
    volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
`, bindings, envFrom, boundItems)))
	kubectl(ctx, t, "wait", "pod/client", "-n", bindings, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=1m")
	want := []string{"memcached of memcached-operator at memcached://sessions-nodes." + bindings + ".svc:11211"}
	for i := range boundItems {
		want = append(want, "STORED", fmt.Sprintf("VALUE item-%d 0 4", i), fmt.Sprintf("%04d", i), "END")
	}
	log := strings.FieldsFunc(kubectl(ctx, t, "logs", "client", "-n", bindings), func(r rune) bool { return r == '\r' || r == '\n' })
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("the container printed (-want +got):\n%s", diff)
	}

	cache := clients.Access{Network: p.network}.Spread(p.hosts()[0])
	defer func() { must(t, cache.Close()) }()
	for i := range boundItems {
		key, value := fmt.Sprintf("item-%d", i), fmt.Sprintf("%04d", i)
		if item, err := cache.Get(key); err != nil || string(item.Value) != value {
			t.Errorf("%s, which the container has stored: %v", key, err)
		}
	}
}
