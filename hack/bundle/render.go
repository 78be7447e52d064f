// Package plain renders a bundle directory to manifests that kubectl applies, for clusters without OLM. It creates
// what OLM would: the same Deployment, ServiceAccount and permissions, from the same files. It adds nothing.
package main

import (
	"bytes"
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/project"
)

// Options say how to render.
type Options struct {
	// CRDsOnly leaves out everything but the custom resource definitions.
	CRDsOnly bool
	// Image replaces the manager's image, which is the agent's as well; empty keeps the bundle's.
	Image string
	// Operands replaces official operand images; empty keeps them.
	Operands project.StandIns
}

// Render returns the manifests of the bundle in dir as one YAML stream, in an order that kubectl can apply.
func Render(dir string, options Options) ([]byte, error) {
	content, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a bundle (`go run ./hack/bundle` writes it): %w", dir, err)
	}
	var objects []any
	if !options.CRDsOnly {
		objects = append(objects, csv.NamespaceManifest())
	}
	for _, crd := range content.V1CRDs {
		objects = append(objects, crd)
	}
	if !options.CRDsOnly {
		objects = append(objects, install(content, options.Image)...)
	}
	var out bytes.Buffer
	for _, object := range objects {
		document, err := bundle.Encode(object)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(document)
	}
	return options.Operands.Replace(out.Bytes())
}

// install is what OLM makes of the ClusterServiceVersion, and the other objects of the bundle as they are.
func install(bundle *manifests.Bundle, image string) []any {
	objects := []any{corev1.ServiceAccount{TypeMeta: meta("v1", "ServiceAccount"), ObjectMeta: named(project.Deployment)}}
	for _, object := range bundle.Objects {
		switch object.GetKind() {
		case "ClusterServiceVersion", "CustomResourceDefinition":
			continue
		case "Service":
			object.SetNamespace(project.Namespace)
		}
		objects = append(objects, object)
	}
	strategy := bundle.CSV.Spec.InstallStrategy.StrategySpec
	objects = append(objects, permissions(strategy)...)
	for _, spec := range strategy.DeploymentSpecs {
		d := appsv1.Deployment{TypeMeta: meta("apps/v1", "Deployment"), ObjectMeta: named(spec.Name), Spec: spec.Spec}
		d.Labels = spec.Label
		if image != "" {
			replaceImage(d.Spec.Template.Spec.Containers, image)
		}
		objects = append(objects, d)
	}
	return objects
}

// replaceImage lets the manager run another image, and start its agents from the same.
func replaceImage(containers []corev1.Container, image string) {
	for i := range containers {
		if containers[i].Name != project.Container {
			continue
		}
		containers[i].Image = image
		for j := range containers[i].Env {
			if containers[i].Env[j].Name == project.AgentEnv {
				containers[i].Env[j].Value = image
			}
		}
	}
}

func permissions(strategy v1alpha1.StrategyDetailsDeployment) []any {
	var objects []any
	group := rbacv1.SchemeGroupVersion.String()
	for _, p := range strategy.ClusterPermissions {
		name := metav1.ObjectMeta{Name: project.Package + "-manager-role"}
		objects = append(objects,
			rbacv1.ClusterRole{TypeMeta: meta(group, "ClusterRole"), ObjectMeta: name, Rules: p.Rules},
			rbacv1.ClusterRoleBinding{
				TypeMeta: meta(group, "ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: project.Package + "-manager-rolebinding"},
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
				Subjects: subject(p.ServiceAccountName),
			})
	}
	for _, p := range strategy.Permissions {
		role := named(project.Package + "-leader-election-role")
		objects = append(objects,
			rbacv1.Role{TypeMeta: meta(group, "Role"), ObjectMeta: role, Rules: p.Rules},
			rbacv1.RoleBinding{
				TypeMeta: meta(group, "RoleBinding"), ObjectMeta: named(project.Package + "-leader-election-rolebinding"),
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
				Subjects: subject(p.ServiceAccountName),
			})
	}
	return objects
}

func subject(serviceAccount string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: serviceAccount, Namespace: project.Namespace}}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: project.Namespace}
}

func meta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}
