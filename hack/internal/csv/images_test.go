package csv_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/project"
)

func TestEveryImageIsRelated(t *testing.T) {
	v, _ := composed(t)
	var related []string
	for _, r := range v.Spec.RelatedImages {
		related = append(related, r.Image)
		if !strings.Contains(r.Image, "@sha256:") {
			t.Errorf("related image %s is not by digest", r.Image)
		}
	}
	for _, d := range v.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, c := range d.Spec.Template.Spec.Containers {
			used := []string{c.Image}
			for _, env := range c.Env {
				if strings.HasPrefix(env.Name, "RELATED_IMAGE_") || env.Name == project.AgentEnv {
					used = append(used, env.Value)
				}
			}
			for _, image := range used {
				if !slices.Contains(related, image) {
					t.Errorf("%s is used but not related", image)
				}
			}
		}
	}
}

// The agent runs the operator's own image, by digest in a release.
func TestEnvironmentHasTheImagesOfCaches(t *testing.T) {
	v, _ := composed(t)
	got := map[string]string{}
	for _, variable := range v.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Env {
		got[variable.Name] = variable.Value
	}
	want := map[string]string{
		"AGENT_IMAGE":                    image,
		"MEMCACHED_VERSION":              "1.6.45",
		"RELATED_IMAGE_MEMCACHED_1_6_18": "docker.io/library/memcached@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237",
		"RELATED_IMAGE_MEMCACHED_1_6_45": "docker.io/library/memcached@sha256:c29847751abb41f4c268c84fb3087fee05d4edcbda44409ccb5086e26148e8a7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
