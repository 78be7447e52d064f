package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/go-logr/logr"

	"github.com/example/memcached-operator/operator/internal/testkit"
)

// What people set in a Subscription is accepted as images and versions that pods can run, or one line names the variable.
func FuzzEnvironment(f *testing.F) {
	for _, seed := range [][2]string{
		{"1_6_18", digest}, {"1_6_45", "memcached"}, {"1.6.18", "docker.io/library/memcached:1.6"}, {"", ""}, {"\x18", ""}, {"01_6_18", "x"}, {"1_6_18-rc", "x"}, {"99999999999999999999_0_0", "x"},
		{"1_6_18\x1b", "x"}, {"1_6_18", "a\nb"}, {"1_6_18", "localhost:5000/x@sha256:\x1b"}, {"1_6_18", " x"}, {"1_6_18", "a\xc2\x85b"},
	} {
		f.Add(seed[0], seed[1], "1.6.18", seed[1])
		f.Add(seed[0], digest, seed[0], "")
	}
	f.Fuzz(func(t *testing.T, suffix, image, preferred, agent string) {
		variables := []string{imagePrefix + suffix + "=" + image, imagePrefix + "1_5_0=" + digest}
		if preferred != "" {
			variables = append(variables, defaultVariable+"="+preferred)
		}
		if agent != "" {
			variables = append(variables, agentVariable+"="+agent)
		}
		images, err := readEnvironment(variables).images(logr.Discard())
		testkit.OneLine(t, err)
		if err != nil {
			return
		}
		if images.Memcached[images.Default] == "" || preferred != "" && images.Default != preferred || len(images.Memcached) > 2 {
			t.Errorf("%q becomes %+v", variables, images)
		}
		for version, image := range images.Memcached {
			if image == "" || strings.ContainsFunc(image+version+images.Agent, unicode.IsSpace) || images.VersionOf(image) == "" {
				t.Errorf("%q becomes %+v", variables, images)
			}
		}
	})
}
