//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/walk"
)

// policyLabel is the label of a namespace in which the policies apply.
const policyLabel = "example.com/policies=apply"

// admissionPolicies are policies as platform teams have them: one gives every workload a priority, the other gives every new
// pod a variable and a toleration. Both rewrite images to a mirror, which the local cluster finds where it finds all images.
const admissionPolicies = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: gold}
value: 1000
preemptionPolicy: Never
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: workloads.example.com}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [statefulsets, deployments]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |-
        Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
          priorityClassName: "gold",
          containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
            name: c.name, image: c.image.replace("docker.io/", "mirror.example.com/").replace("quay.io/", "mirror.example.com/")})}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: workloads.example.com}
spec:
  policyName: workloads.example.com
  matchResources: {namespaceSelector: {matchLabels: {example.com/policies: apply}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: pods.example.com}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |-
        Object{spec: Object.spec{containers: object.spec.containers.map(c,
          Object.spec.containers{name: c.name,
            image: c.image.replace("docker.io/", "mirror.example.com/").replace("quay.io/", "mirror.example.com/"),
            env: [Object.spec.containers.env{name: "TEAM", value: "shop"}]})}}
  - patchType: JSONPatch
    jsonPatch:
      expression: |-
        has(object.spec.tolerations) ?
          [JSONPatch{op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{key: "gold", operator: "Exists"}}] :
          [JSONPatch{op: "add", path: "/spec/tolerations", value: [Object.spec.tolerations{key: "gold", operator: "Exists"}]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: pods.example.com}
spec:
  policyName: pods.example.com
  matchResources: {namespaceSelector: {matchLabels: {example.com/policies: apply}}}
`

// installPolicies creates the policies, and removes them when the test ends.
func installPolicies(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policies.yaml")
	must(t, os.WriteFile(file, []byte(admissionPolicies), 0o600))
	kubectl(t.Context(), t, "apply", "-f", file)
	t.Cleanup(func() { must(t, suite.cluster.Delete(context.Background(), "-f", file)) })
}

// applyPolicies makes the policies apply in a namespace from now on.
func applyPolicies(t *testing.T, namespace string) {
	t.Helper()
	kubectl(t.Context(), t, "label", "namespace", namespace, policyLabel)
	for what, probe := range map[string][]string{
		"gold": {"create", "deployment", "probe", "--image=probe", "-o", "jsonpath={.spec.template.spec.priorityClassName}"},
		"shop": {"run", "probe", "--image=probe", "-o", "jsonpath={.spec.containers[0].env[0].value}"},
	} {
		must(t, walk.Within(t.Context(), 30*time.Second, "the policies to apply in "+namespace, func(ctx context.Context) error {
			says, err := suite.cluster.Kubectl(ctx, append(probe, "-n", namespace, "--dry-run=server")...)
			if err == nil && says != what {
				err = errors.New("there is no policy yet")
			}
			if err != nil {
				return fmt.Errorf("%q: %w", says, err)
			}
			return nil
		}))
	}
}
