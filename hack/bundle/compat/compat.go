// Package compat checks that the CRDs of every release can follow those of earlier releases. It reads releases, upgrades
// and sample objects from the checkout. Package change judges the changes of the CRDs.
package compat

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/hack/bundle/compat/change"
)

// Result says what was checked and what was found.
type Result struct {
	// Upgrades are the pairs of releases that were compared.
	Upgrades []Upgrade
	// Samples is the number of objects that OLM's checks were replayed with.
	Samples int
	// Problems are one line each: where, what, and the fix. None means compatible.
	Problems []string
}

// Check compares the version under development with all earlier releases, and the releases of every edge of the catalog,
// in the checkout at root. The error is about a checkout that cannot be checked.
func Check(ctx context.Context, root, development string) (*Result, error) {
	releases, err := Releases(root, development)
	if err != nil {
		return nil, err
	}
	upgrades, err := Upgrades(root, releases)
	if err != nil {
		return nil, err
	}
	samples, err := Corpus(root)
	if err != nil {
		return nil, err
	}
	for _, release := range releases {
		samples = append(samples, release.Examples...)
	}
	check := &check{ctx: ctx, releases: releases, samples: samples}
	problems := check.corpus()
	for _, upgrade := range upgrades {
		found, err := check.upgrade(upgrade)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return &Result{Upgrades: upgrades, Samples: len(samples), Problems: problems}, nil
}

type check struct {
	ctx      context.Context
	releases []Release // Oldest first.
	samples  []Sample
}

// corpus checks the samples. A sample that no release accepts tests nothing, and a version without a sample is not
// tested.
func (c *check) corpus() []string {
	var problems []string
	for _, sample := range c.samples {
		var reason error
		admitted := slices.ContainsFunc(c.releases, func(r Release) bool {
			reason = c.admit(r, sample)
			return reason == nil
		})
		if !admitted { // The last reason is that of the newest release.
			problems = append(problems, fmt.Sprintf("%s: no release accepts it: %v; correct the sample", sample, reason))
		}
	}
	newest := c.releases[len(c.releases)-1]
	for _, crd := range newest.CRDs {
		for _, version := range crd.Spec.Versions {
			if version.Served && !slices.ContainsFunc(c.samples, func(s Sample) bool {
				return s.isOf(crd) && s.Object.GroupVersionKind().Version == version.Name
			}) {
				problems = append(problems, fmt.Sprintf("%s %s: there is no sample of it; add one to %s", crd.Name, version.Name, CorpusDir))
			}
		}
	}
	return problems
}

// admit returns an error if a cluster that runs the release would not accept the sample.
func (c *check) admit(release Release, sample Sample) error {
	for _, crd := range release.CRDs {
		if sample.isOf(crd) {
			return change.Admit(c.ctx, crd, sample.Object)
		}
	}
	return fmt.Errorf("v%s has no CRD of %s", release.Version, sample.Object.GroupVersionKind().GroupKind())
}

// upgrade compares the CRDs of two releases, and replays OLM's checks of the upgrade.
func (c *check) upgrade(upgrade Upgrade) ([]string, error) {
	findings, err := change.Compare(upgrade.from.CRDs, upgrade.to.CRDs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", upgrade, err)
	}
	var problems []string
	for _, finding := range findings {
		problems = append(problems, fmt.Sprintf("%s: %s", upgrade, finding))
	}
	for _, older := range upgrade.from.CRDs {
		newer := change.Find(upgrade.to.CRDs, older.Name)
		if newer == nil {
			continue
		}
		for _, err := range change.ReplayObjects(older, newer, c.existing(upgrade.from, older)) {
			problems = append(problems, fmt.Sprintf("%s: %v; OLM stops the upgrade of a cluster that has such an object: allow it", upgrade, err))
		}
		for _, err := range change.ReplayStoredVersions(newer, c.stored(upgrade.from.Version, older.Name)) {
			problems = append(problems, fmt.Sprintf("%s: %v; OLM stops the upgrade (status.storedVersions): keep the version", upgrade, err))
		}
	}
	return problems, nil
}

// existing returns the samples of the CRD that a cluster with the release may hold.
func (c *check) existing(release Release, crd *apiextensionsv1.CustomResourceDefinition) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, sample := range c.samples {
		if sample.isOf(crd) && c.admit(release, sample) == nil {
			objects = append(objects, sample.Object)
		}
	}
	return objects
}

// stored returns the versions in which a cluster may store objects of a CRD, if it runs the given release and ran any
// earlier release before: the API server adds to status.storedVersions, and OLM never removes from it.
func (c *check) stored(version, crdName string) []string {
	var stored []string
	for _, release := range c.releases {
		if crd := change.Find(release.CRDs, crdName); crd != nil {
			for _, v := range crd.Spec.Versions {
				if v.Storage && !slices.Contains(stored, v.Name) {
					stored = append(stored, v.Name)
				}
			}
		}
		if release.Version == version {
			break
		}
	}
	return stored
}
