package apiserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/project"
)

// addAccounts makes the ServiceAccount of the operator with the rights of its bundle, and one like it for the bare client, which may do
// everything: the API server treats the requests of both alike.
func (s *Server) addAccounts(ctx context.Context, manifests string) error {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	content, err := os.ReadFile(filepath.Join(filepath.Dir(manifests), project.CSVFile))
	if err == nil {
		err = yaml.Unmarshal(content, csv)
	}
	if err != nil {
		return err
	}
	install := csv.Spec.InstallStrategy.StrategySpec
	rights := slices.Concat(install.ClusterPermissions[0].Rules, install.Permissions[0].Rules)
	if s.OperatorKubeconfig, err = s.addAccount(ctx, project.Deployment, rights); err != nil {
		return err
	}
	all := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	s.BareKubeconfig, err = s.addAccount(ctx, "bare-client", all)
	return err
}

// addAccount makes a ServiceAccount's user with rights in the whole cluster, and returns its kubeconfig.
func (s *Server) addAccount(ctx context.Context, name string, rights []rbacv1.PolicyRule) (string, error) {
	user := "system:serviceaccount:" + project.Namespace + ":" + name
	meta := metav1.ObjectMeta{Name: name}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rights},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := s.Client.Create(ctx, object); err != nil {
			return "", err
		}
	}
	added, err := s.environment.AddUser(envtest.User{Name: user, Groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:" + project.Namespace, "system:authenticated",
	}}, &rest.Config{})
	if err != nil {
		return "", err
	}
	kubeconfig, err := added.KubeConfig()
	if err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	file := filepath.Join(s.directory, name+".kubeconfig")
	return file, os.WriteFile(file, kubeconfig, 0o600)
}
