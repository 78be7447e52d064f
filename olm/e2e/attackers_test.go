//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/images"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// attacked is the namespace of the attackers.
const attacked = "e2e-attacked"

const (
	tenantUser   = "system:serviceaccount:" + attacked + ":tenant"
	holderUser   = "system:serviceaccount:" + attacked + ":holder"
	operatorUser = "system:serviceaccount:" + walk.Namespace + ":memcached-operator-controller-manager"
)

func inAttacked(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: attacked, Name: name}
}

// limitByPolicies applies the admission policies of olm/policies until the test ends.
func limitByPolicies(t *testing.T) {
	t.Helper()
	folder := filepath.Join(suite.root, "olm", "policies")
	files := []string{"-f", filepath.Join(folder, "writers.yaml"), "-f", filepath.Join(folder, "operator.yaml")}
	kubectl(t.Context(), t, append([]string{"apply"}, files...)...)
	t.Cleanup(func() { must(t, suite.cluster.Delete(context.Background(), files...)) })
}

// attackers plays the attackers of SECURITY.md.
func attackers(t *testing.T) {
	namespace(t, attacked)
	image, err := images.PushProgram(t.Context(), suite.root, "attacker", "bin/memcached", suite.registry+"/example/attacker:e2e")
	must(t, err)
	t.Run("a tenant with the editor role alone", editorAlone)
	t.Run("a pod in the network", func(t *testing.T) { podInTheNetwork(t, image) })
	t.Run("a compromised cache pod", func(t *testing.T) { compromisedCache(t, image) })
	t.Run("a holder of edit on owned objects", holderOfEdit)
	t.Run("a compromised operator", compromisedOperator)
}

// editorAlone may write Memcacheds and Applications, and neither create pods nor read Secrets.
func editorAlone(t *testing.T) {
	ctx := t.Context()
	kubectl(ctx, t, "create", "serviceaccount", "tenant", "-n", attacked)
	for _, kind := range []string{"memcached", "application"} {
		kubectl(ctx, t, "create", "rolebinding", kind, "-n", attacked, "--clusterrole=memcached-operator-"+kind+"-editor-role", "--serviceaccount="+attacked+":tenant")
	}
	given := produceAs(t, inAttacked("given"), 1, "monitoring: {}")
	stealing := `{"image":"stealing","env":[{"name":"PASSWORD","valueFrom":{"secretKeyRef":{"name":"given-binding","key":"host"}}}]}`
	refused(t, "may not create pods", func() error {
		return applyManifest(t, applicationManifest(attacked, "stealing", stealing), "--as="+tenantUser)
	})
	refused(t, "may not create pods", func() error {
		_, err := suite.cluster.Kubectl(ctx, "patch", "memcached", "given", "-n", attacked, "--as="+tenantUser, "--type=merge", "-p", `{"spec":{"image":"stealing"}}`)
		return err
	})
	kubectl(ctx, t, "patch", "memcached", "given", "-n", attacked, "--as="+tenantUser, "--type=merge", "-p", `{"spec":{"size":2}}`)
	given.size = 2
	given.ready(time.Minute)

	// What the operator refuses to everybody.
	makeApplication(t, attacked, "privileged", `{"image":"privileged","securityContext":{"privileged":true}}`)
	waitReason(t, attacked, "privileged", "PodSecurityViolation")
	must(t, applyManifest(t, cacheManifest("bypass", `{"size":1,"extraArgs":["--listen-backlog","-R","-p11212"]}`)))
	bypass := &production{t: t, key: inAttacked("bypass"), size: 1}
	bypass.says(time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonInvalidArguments, "-p")
	if made := kubectl(ctx, t, "get", "deployments,statefulsets,pods", "-n", attacked, "-o", "name"); strings.Contains(made, "privileged") || strings.Contains(made, "bypass") {
		t.Errorf("the operator made what it refuses:\n%s", made)
	}
}

// podInTheNetwork floods the agent of a cache, which goes on answering probes and scrapes.
func podInTheNetwork(t *testing.T, image string) {
	p := produceAs(t, inAttacked("flooded"), 1, "workload: StatefulSet\nmonitoring: {}")
	before := p.pods()
	pod := before[p.podName(0)]
	metrics := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(metricsPort))
	kubectl(t.Context(), t, "run", "flood", "-n", attacked, "--image="+image, "--restart=Never", "--", "flood", metrics)
	kubectl(t.Context(), t, "wait", "pod/flood", "-n", attacked, "--for=condition=Ready", "--timeout=1m")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		must(t, walk.Within(t.Context(), 10*time.Second, "a scrape beside the flood", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			body, err := get(ctx, "http://"+metrics+"/metrics")
			if err == nil && !strings.Contains(body, "memcached_up 1") {
				err = fmt.Errorf("memcached is not up: %s", body)
			}
			return err
		}))
		if after := p.pods()[pod.Name]; !readyAt(&after).Equal(readyAt(&pod)) {
			t.Fatalf("the pod was ready since %s, and is since %s", readyAt(&pod), readyAt(&after))
		}
	}
	p.same(before)
	kubectl(t.Context(), t, "delete", "pod", "flood", "-n", attacked, "--timeout=1m")
}

// compromisedCache sends the operator elsewhere instead of reporting the state of memcached.
func compromisedCache(t *testing.T, image string) {
	must(t, applyManifest(t, cacheManifest("taken", fmt.Sprintf(`{"size":1,"workload":"StatefulSet","image":%q}`, image))))
	must(t, walk.Within(t.Context(), 2*time.Minute, "the operator to ask a cache that was taken over", func(ctx context.Context) error {
		pod := (&production{t: t, key: inAttacked("taken")}).pods()["taken-0"]
		if pod.Status.PodIP == "" {
			return errors.New("it has no pod")
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		body, err := get(ctx, "http://"+net.JoinHostPort(pod.Status.PodIP, "9152"))
		if err != nil {
			return err
		}
		var counts struct{ Asked, Followed int }
		if err := json.Unmarshal([]byte(body), &counts); err != nil {
			return err
		}
		if counts.Followed > 0 {
			t.Fatalf("the operator followed to another address: %s", body)
		}
		if counts.Asked < 3 {
			return fmt.Errorf("the operator asked %d times", counts.Asked)
		}
		return nil
	}))
	produceAs(t, inAttacked("beside"), 1, "workload: StatefulSet") // The operator has time for others.
	must(t, suite.cluster.Delete(t.Context(), "memcached", "taken", "-n", attacked))
}

// holderOfEdit changes the objects that the operator owns.
func holderOfEdit(t *testing.T) {
	ctx := t.Context()
	kubectl(ctx, t, "create", "serviceaccount", "holder", "-n", attacked)
	kubectl(ctx, t, "create", "rolebinding", "holder", "-n", attacked, "--clusterrole=edit", "--serviceaccount="+attacked+":holder")
	p := produceAs(t, inAttacked("edited"), 2, "workload: StatefulSet")
	servers := p.servers(clients.Access{})
	p.storeAll(servers, wrongItems, smallItem)
	before := p.pods()
	image := []string{"get", "statefulset", "edited", "-n", attacked, "-o", `jsonpath={.spec.template.spec.containers[?(@.name=="memcached")].image}`}
	given := kubectl(ctx, t, image...)
	kubectl(ctx, t, "patch", "statefulset", "edited", "-n", attacked, "--as="+holderUser, "-p",
		`{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"stealing"}]}}}}`)
	must(t, walk.Within(ctx, 30*time.Second, "the template to be put back", func(ctx context.Context) error {
		now, err := suite.cluster.Kubectl(ctx, image...)
		if err == nil && now != given {
			err = fmt.Errorf("the image is %s, and was %s", now, given)
		}
		return err
	}))
	p.ready(time.Minute)
	p.same(before)
	p.complete(servers, wrongItems)
	for _, record := range []string{"patch", "delete", "create"} {
		if can, err := suite.cluster.Kubectl(ctx, "auth", "can-i", record, "controllerrevisions", "-n", attacked, "--as="+holderUser); err == nil {
			t.Errorf("edit may %s records: %s", record, can)
		}
	}
}

// compromisedOperator has the rights of the operator's ServiceAccount.
func compromisedOperator(t *testing.T) {
	ctx := t.Context()
	kubectl(ctx, t, "create", "deployment", "foreign", "-n", attacked, "--image=foreign", "--replicas=0")
	for says, try := range map[string]func() error{
		"cannot list resource": func() error {
			_, err := suite.cluster.Kubectl(ctx, "get", "secrets", "-A", "--as="+operatorUser)
			return err
		},
		"privileged": func() error {
			return applyManifest(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":%q,"name":"root"},"spec":{"automountServiceAccountToken":false,
				"containers":[{"name":"root","image":"root","securityContext":{"privileged":true}}]}}`, attacked), "--server-side", "--as="+operatorUser)
		},
		"token of a ServiceAccount": func() error {
			return applyManifest(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":%q,"name":"root"},"spec":{"serviceAccountName":"holder",
				"containers":[{"name":"root","image":"root"}]}}`, attacked), "--server-side", "--as="+operatorUser)
		},
		"only its own objects": func() error {
			_, err := suite.cluster.Kubectl(ctx, "delete", "deployment", "foreign", "-n", attacked, "--as="+operatorUser)
			return err
		},
		"only Secrets of the type": func() error {
			return applyManifest(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token",
				"metadata":{"namespace":%q,"name":"token","annotations":{"kubernetes.io/service-account.name":"holder"}}}`, attacked), "--server-side", "--as="+operatorUser)
		},
		"cannot create resource": func() error {
			_, err := suite.cluster.Kubectl(ctx, "create", "clusterrolebinding", "root", "--clusterrole=cluster-admin", "--user=root", "--as="+operatorUser)
			return err
		},
	} {
		refused(t, says, try)
	}
}

// refused waits until the API server refuses something and says why. A policy takes a moment to apply.
func refused(t *testing.T, says string, try func() error) {
	t.Helper()
	must(t, walk.Within(t.Context(), 30*time.Second, "a refusal that says "+strconv.Quote(says), func(context.Context) error {
		err := try()
		if err != nil && strings.Contains(err.Error(), says) {
			return nil
		}
		return errors.Join(errors.New("it was not refused so"), err)
	}))
}

func cacheManifest(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached","metadata":{"namespace":%q,"name":%q},"spec":%s}`, attacked, name, spec)
}
