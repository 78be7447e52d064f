package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// operatorNamespace is where the operator's ServiceAccount is.
const operatorNamespace = "memcached-operator-system"

// auditVariable names the environment variable with the directory for the log of what operators under test ask the API server. Without
// it nothing is logged.
const auditVariable = "AUDIT_LOGS"

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// logRequests lets the API server log the requests of operators under test.
func logRequests() error {
	directory := os.Getenv(auditVariable)
	if directory == "" {
		return nil
	}
	policy := filepath.Join(directory, "policy.yaml")
	log, err := os.CreateTemp(directory, "audit-*.log")
	if err != nil {
		return fmt.Errorf("%s has to be a directory: %w", auditVariable, err)
	}
	environment.ControlPlane.GetAPIServer().Configure().Append("audit-policy-file", policy).Append("audit-log-path", log.Name())
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	return log.Close()
}

// addOperator makes the ServiceAccount of the operator with the rights that a bundle grants it in the cluster.
func addOperator(manifests string) (*rest.Config, error) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	content, err := os.ReadFile(filepath.Join(manifests, "memcached-operator.clusterserviceversion.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, csv)
	}
	if err != nil {
		return nil, err
	}
	permissions := csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions[0]
	OperatorRules = slices.Concat(permissions.Rules, csv.Spec.InstallStrategy.StrategySpec.Permissions[0].Rules)
	name := metav1.ObjectMeta{Name: permissions.ServiceAccountName}
	account := "system:serviceaccount:" + operatorNamespace + ":" + permissions.ServiceAccountName
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: permissions.Rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: name,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}},
		},
	} {
		if err := Client.Create(context.Background(), object); err != nil {
			return nil, err
		}
	}
	user, err := environment.AddUser(envtest.User{Name: account, Groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated",
	}}, &rest.Config{QPS: -1, UserAgent: "memcached-operator/" + strings.TrimPrefix(filepath.Base(filepath.Dir(manifests)), "v")})
	if err != nil {
		return nil, err
	}
	return user.Config(), nil
}
