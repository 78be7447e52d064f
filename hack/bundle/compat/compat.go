// Package compat decides whether the definitions (CRDs) of every release can follow those of the releases before it: it
// applies packages change and replay to what package lineage reads from a checkout. How a change of a schema is judged
// lives there, not here.
package compat

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/hack/bundle/compat/change"
)

// Result is what a check looked at and what it found.
type Result struct {
	// Upgrades are the pairs of releases that were compared.
	Upgrades []Upgrade
	// Samples is the number of objects that OLM's checks were replayed with.
	Samples int
	// Problems are one line each: where, what, and the mend. None means compatible.
	Problems []string
}

// Check compares the version under development with all earlier releases, and all releases that an edge of the
// catalog joins, in the checkout at root. Its error is about a checkout that cannot be judged.
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

// corpus judges the samples themselves: one that no cluster could hold tests nothing, and neither does a version of a
// kind without a sample.
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
	for _, crd := range newest.Definitions {
		for _, version := range crd.Spec.Versions {
			if version.Served && !slices.ContainsFunc(c.samples, func(s Sample) bool { return isOf(s, crd, version.Name) }) {
				problems = append(problems, fmt.Sprintf("%s %s: there is no sample of it; add one to %s", crd.Name, version.Name, CorpusDir))
			}
		}
	}
	return problems
}

// admit says whether a cluster that runs the release could hold the sample.
func (c *check) admit(release Release, sample Sample) error {
	for _, crd := range release.Definitions {
		if isKind(sample, crd) {
			return change.Admit(c.ctx, crd, sample.Object)
		}
	}
	return fmt.Errorf("v%s has no definition of %s", release.Version, sample.Object.GroupVersionKind().GroupKind())
}

// upgrade compares two releases and replays what OLM does on the way.
func (c *check) upgrade(upgrade Upgrade) ([]string, error) {
	from, to := c.release(upgrade.From), c.release(upgrade.To)
	findings, err := change.Compare(from.Definitions, to.Definitions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", upgrade, err)
	}
	var problems []string
	for _, finding := range findings {
		problems = append(problems, fmt.Sprintf("%s: %s", upgrade, finding))
	}
	for _, older := range from.Definitions {
		for _, newer := range to.Definitions {
			if newer.Name != older.Name {
				continue
			}
			for _, err := range change.ReplayObjects(older, newer, c.existing(from, older)) {
				problems = append(problems, fmt.Sprintf("%s: %v; OLM stops the upgrade of a cluster that has such an object: allow it", upgrade, err))
			}
			for _, err := range change.ReplayStoredVersions(newer, c.stored(upgrade.From, older.Name)) {
				problems = append(problems, fmt.Sprintf("%s: %v; OLM stops the upgrade (status.storedVersions): keep the version", upgrade, err))
			}
		}
	}
	return problems, nil
}

// existing are the samples of a kind that a cluster with the release could hold.
func (c *check) existing(release Release, crd *apiextensionsv1.CustomResourceDefinition) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, sample := range c.samples {
		if isKind(sample, crd) && c.admit(release, sample) == nil {
			objects = append(objects, sample.Object)
		}
	}
	return objects
}

// stored are the versions that objects may be stored in on a cluster that runs the given release and ran any release
// before it: the API server adds to status.storedVersions, and OLM never takes away.
func (c *check) stored(version, definition string) []string {
	var stored []string
	for _, release := range c.releases {
		for _, crd := range release.Definitions {
			for _, v := range crd.Spec.Versions {
				if crd.Name == definition && v.Storage && !slices.Contains(stored, v.Name) {
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

// release returns a release that an upgrade names; package lineage takes both ends from these releases.
func (c *check) release(version string) Release {
	i := slices.IndexFunc(c.releases, func(r Release) bool { return r.Version == version })
	return c.releases[i]
}

func isKind(sample Sample, crd *apiextensionsv1.CustomResourceDefinition) bool {
	gvk := sample.Object.GroupVersionKind()
	return gvk.Group == crd.Spec.Group && gvk.Kind == crd.Spec.Names.Kind
}

func isOf(sample Sample, crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return isKind(sample, crd) && sample.Object.GroupVersionKind().Version == version
}
