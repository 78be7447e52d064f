package upgrades_test

import (
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/graph"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
)

// A catalog can be as it was at an older release, or lead through every release.
func TestCatalogsOfThePast(t *testing.T) {
	const catalog = `{schema: olm.package, name: memcached-operator, defaultChannel: candidate}
---
{schema: olm.channel, package: memcached-operator, name: candidate, entries: [{name: memcached-operator.v0.1.0}, {name: memcached-operator.v0.2.0, replaces: memcached-operator.v0.1.0}, {name: memcached-operator.v0.3.0, replaces: memcached-operator.v0.2.0, skipRange: '>=0.1.0 <0.3.0'}]}
---
{schema: olm.bundle, package: memcached-operator, name: memcached-operator.v0.1.0, image: i, properties: [{type: olm.package, value: {packageName: memcached-operator, version: 0.1.0}}]}
---
{schema: olm.bundle, package: memcached-operator, name: memcached-operator.v0.2.0, image: i, properties: [{type: olm.package, value: {packageName: memcached-operator, version: 0.2.0}}]}
---
{schema: olm.bundle, package: memcached-operator, name: memcached-operator.v0.3.0, image: i, properties: [{type: olm.package, value: {packageName: memcached-operator, version: 0.3.0}}]}
`
	for want, changes := range map[string][]upgrades.Change{
		"0.1.0 > 0.3.0 (candidate)":         nil,
		"0.1.0 > 0.2.0 > 0.3.0 (candidate)": {upgrades.Stepwise},
		"0.1.0 > 0.2.0 (candidate)":         {upgrades.Until("0.2.0")},
		"0.1.0 (candidate)":                 {upgrades.Until("0.1.0")},
	} {
		config := must(declcfg.LoadReader(strings.NewReader(catalog)))(t)
		for _, change := range changes {
			if err := change(config); err != nil {
				t.Fatal(err)
			}
		}
		routes := must(upgrades.Routes(must(graph.Read(*config))(t), []string{"memcached-operator.v0.1.0"}))(t)
		if len(routes) != 1 || routes[0].String() != want {
			t.Errorf("the routes are %v, want %s", routes, want)
		}
	}
}
