package main

import (
	"bytes"
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/project"
)

// renderOptions select and change what is rendered.
type renderOptions struct {
	// crdsOnly leaves out everything but the CRDs.
	crdsOnly bool
	// image replaces the image of the operator and of its agents. If it is empty, that of the bundle stays.
	image string
	// operands replace official memcached images.
	operands project.StandIns
}

func renderCommand(version *string) *cobra.Command {
	var options renderOptions
	var operands string
	cmd := &cobra.Command{
		Use:   "render (--direct | --crds)",
		Short: "Print the bundle as plain manifests, to install it without OLM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			if options.operands, err = project.LoadStandIns(operands); err != nil {
				return err
			}
			out, err := render(root+"/"+project.BundleDir(*version), options)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(out)
			return err
		},
	}
	cmd.Flags().Bool("direct", false, "everything: namespace, CRDs, permissions, Deployment")
	cmd.Flags().BoolVar(&options.crdsOnly, "crds", false, "only the CRDs")
	cmd.Flags().StringVar(&options.image, "image", "", "image of the operator (default: the one in the bundle)")
	cmd.Flags().StringVar(&operands, "operands", "", "JSON file that maps official memcached images to the ones to run")
	cmd.MarkFlagsOneRequired("direct", "crds")
	cmd.MarkFlagsMutuallyExclusive("direct", "crds")
	return cmd
}

func environmentCommand() *cobra.Command {
	var operands string
	cmd := &cobra.Command{
		Use:   "environment",
		Short: "Print the environment variables with the images of caches, for an operator outside a cluster, as lines NAME=VALUE",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			standIns, err := project.LoadStandIns(operands)
			if err != nil {
				return err
			}
			lines := project.DefaultOperandEnv + "=" + project.DefaultOperand + "\n"
			for _, operand := range project.Operands() {
				lines += operand.Env() + "=" + operand.Image + "\n"
			}
			replaced, err := standIns.Replace([]byte(lines))
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(replaced)
			return err
		},
	}
	cmd.Flags().StringVar(&operands, "operands", "", "JSON file that maps official memcached images to the ones to run")
	return cmd
}

// render returns the bundle in dir as one YAML stream of what OLM would create, in an order that kubectl can apply.
func render(dir string, options renderOptions) ([]byte, error) {
	content, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a bundle (`go run ./hack/bundle` writes it): %w", dir, err)
	}
	var objects []any
	if !options.crdsOnly {
		objects = append(objects, csv.NamespaceManifest())
	}
	for _, crd := range content.V1CRDs {
		objects = append(objects, crd)
	}
	if !options.crdsOnly {
		objects = append(objects, install(content, options.image)...)
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
	return options.operands.Replace(out.Bytes())
}

// install returns what OLM creates for the ClusterServiceVersion, and the other objects of the bundle.
func install(content *manifests.Bundle, image string) []any {
	objects := []any{corev1.ServiceAccount{TypeMeta: meta("v1", "ServiceAccount"), ObjectMeta: named(project.Deployment)}}
	for _, object := range content.Objects {
		switch object.GetKind() {
		case "ClusterServiceVersion", "CustomResourceDefinition":
			continue
		case "Service":
			object.SetNamespace(project.Namespace)
		}
		objects = append(objects, object)
	}
	strategy := content.CSV.Spec.InstallStrategy.StrategySpec
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

// replaceImage changes the image of the operator and of its agents.
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
	subject := func(serviceAccount string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: serviceAccount, Namespace: project.Namespace}}
	}
	for _, p := range strategy.ClusterPermissions {
		role, binding := named(project.Package+"-manager-role"), named(project.Package+"-manager-rolebinding")
		role.Namespace, binding.Namespace = "", ""
		objects = append(objects,
			rbacv1.ClusterRole{TypeMeta: meta(group, "ClusterRole"), ObjectMeta: role, Rules: p.Rules},
			rbacv1.ClusterRoleBinding{
				TypeMeta: meta(group, "ClusterRoleBinding"), ObjectMeta: binding, Subjects: subject(p.ServiceAccountName),
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			})
	}
	for _, p := range strategy.Permissions {
		role, binding := named(project.Package+"-leader-election-role"), named(project.Package+"-leader-election-rolebinding")
		objects = append(objects,
			rbacv1.Role{TypeMeta: meta(group, "Role"), ObjectMeta: role, Rules: p.Rules},
			rbacv1.RoleBinding{
				TypeMeta: meta(group, "RoleBinding"), ObjectMeta: binding, Subjects: subject(p.ServiceAccountName),
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			})
	}
	return objects
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: project.Namespace}
}

func meta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}
