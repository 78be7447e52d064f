package inputs_test

import (
	"testing"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

func TestVersionOf(t *testing.T) {
	mine := v1alpha1.MemcachedSpec{Image: "mine:2", Version: "1.6.40"}
	earlier := []inputs.Record{
		{Spec: v1alpha1.MemcachedSpec{Image: "mine:2", Version: "1.6.39"}}, {Spec: v1alpha1.MemcachedSpec{Image: "mine:1"}},
		{Spec: v1alpha1.MemcachedSpec{Image: "mine:1", Version: "1.6.38"}},
		{Spec: v1alpha1.MemcachedSpec{Image: "mine:1", Version: "1.6.37"}}, {Spec: v1alpha1.MemcachedSpec{Image: "memcached:new", Version: "1.5.0"}},
	}
	for name, test := range map[string]struct {
		spec                  v1alpha1.MemcachedSpec
		image, recorded, want string
	}{
		"the operator's image":                    {image: "memcached:new", want: "1.6.45"},
		"an unknown image":                        {spec: mine, image: "another"},
		"no image":                                {spec: v1alpha1.MemcachedSpec{Version: "1.6.40"}},
		"the user's image":                        {spec: mine, image: "mine:2", want: "1.6.40"},
		"a version that was said later":           {spec: mine, image: "mine:2", recorded: "1.6.38", want: "1.6.40"},
		"a version that is not said any more":     {spec: v1alpha1.MemcachedSpec{Image: "mine:2"}, image: "mine:2", recorded: "1.6.38", want: "1.6.38"},
		"the image of an earlier spec":            {spec: mine, image: "mine:1", want: "1.6.38"},
		"the image of an earlier spec, with both": {spec: mine, image: "mine:1", recorded: "1.6.36", want: "1.6.36"},
		"the operator's image in an earlier spec": {spec: mine, image: "memcached:new", want: "1.6.45"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs.Inputs{
				Memcached: &v1alpha1.Memcached{Spec: test.spec}, Records: earlier,
				Images: inputs.Images{Memcached: map[string]string{"1.6.45": "memcached:new"}},
			}
			if got := in.VersionOf(test.image, test.recorded); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
