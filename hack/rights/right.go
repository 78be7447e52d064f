package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// right is one verb for one resource.
type right struct {
	Group, Resource, Verb string // Resource has the form "pods" or "pods/eviction".

	// Namespaced is true in the namespace of the operator, false in the cluster.
	Namespaced bool
}

// String returns for example "apps deployments/scale: update", with " (own namespace)" behind it if the right is namespaced.
func (r right) String() string {
	text := strings.TrimSpace(r.Group+" "+r.Resource) + ": " + r.Verb
	if r.Namespaced {
		text += ownNamespace
	}
	return text
}

const ownNamespace = " (own namespace)"

// granted returns the rights that a ClusterServiceVersion gives the operator, sorted.
func granted(csv *v1alpha1.ClusterServiceVersion) []right {
	spec := csv.Spec.InstallStrategy.StrategySpec
	var all []right
	for _, permissions := range spec.ClusterPermissions {
		all = append(all, expand(permissions.Rules, false)...)
	}
	for _, permissions := range spec.Permissions {
		all = append(all, expand(permissions.Rules, true)...)
	}
	return sorted(all)
}

func expand(rules []rbacv1.PolicyRule, namespaced bool) []right {
	var all []right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{Group: group, Resource: resource, Verb: verb, Namespaced: namespaced})
				}
			}
		}
	}
	return all
}

// sorted returns rights sorted, each once.
func sorted(rights []right) []right {
	slices.SortFunc(rights, func(a, b right) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(rights)
}
