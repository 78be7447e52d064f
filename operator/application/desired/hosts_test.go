package desired_test

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

func at(second int) metav1.Time {
	return metav1.NewTime(time.Date(2030, 1, 1, 0, 0, second, 0, time.UTC))
}

// made returns an Application that asks for a host and path, and was created at a second.
func made(namespace, name string, second int, path string) *testkit.Application {
	return testkit.MakeApplication(name).Namespace(namespace).Created(at(second)).Ingress("a.example.com", path, "")
}

// rival returns one that has neither claim nor Ingress.
func rival(application *testkit.Application) desired.Rival {
	return desired.Rival{Application: application.Obj()}
}

// serving returns one that has had an Ingress for its host since a second.
func serving(application *testkit.Application, second int) desired.Rival {
	return desired.Rival{Application: application.Obj(), Ingress: served(application, second)}
}

func served(application *testkit.Application, second int) *networkingv1.Ingress {
	wanted := application.Obj().Spec.Ingress
	rule := networkingv1.IngressRule{Host: wanted.Host}
	rule.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: wanted.Path}}}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(second)}, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{rule}},
	}
}

// waiting returns one that has nothing, and waits for somebody else.
func waiting(application *testkit.Application) desired.Rival {
	return desired.Rival{Application: application.Obj(), Waits: true}
}

// deleted makes an Application one that is being deleted.
func deleted(application desired.Rival) desired.Rival {
	now := at(9)
	application.Application.DeletionTimestamp = &now
	return application
}

// moved makes an Application with a claim ask for another host.
func moved(application desired.Rival) desired.Rival {
	application.Application.Spec.Ingress.Host = "elsewhere.example.com"
	return application
}

func TestWhoHoldsAnAddress(t *testing.T) {
	mine := made("m", "m", 5, "/")
	asks := rival(mine)
	has := serving(mine, 5)
	claims := rival(made("m", "m", 5, "/").Claims(at(5)))
	for name, test := range map[string]struct {
		own    desired.Rival
		rivals []desired.Rival
		want   string
	}{
		"nobody else": {own: asks},

		"of those who ask, the older one":             {own: asks, rivals: []desired.Rival{rival(made("z", "z", 4, "/"))}, want: "z/z"},
		"of those who ask, not the younger one":       {own: asks, rivals: []desired.Rival{rival(made("a", "a", 6, "/"))}},
		"the oldest of several":                       {own: asks, rivals: []desired.Rival{rival(made("b", "b", 4, "/")), rival(made("c", "c", 3, "/"))}, want: "c/c"},
		"between equals, an earlier name":             {own: asks, rivals: []desired.Rival{rival(made("m", "a", 5, "/"))}, want: "m/a"},
		"between equals, not a later name":            {own: asks, rivals: []desired.Rival{rival(made("m", "z", 5, "/"))}},
		"between equals, an earlier namespace":        {own: asks, rivals: []desired.Rival{rival(made("a", "z", 5, "/"))}, want: "a/z"},
		"not an older one that waits for another":     {own: asks, rivals: []desired.Rival{waiting(made("z", "z", 4, "/"))}},
		"not an older one that is being deleted":      {own: asks, rivals: []desired.Rival{deleted(rival(made("z", "z", 4, "/")))}},
		"an older one of another namespace and path":  {own: asks, rivals: []desired.Rival{rival(made("z", "z", 4, "/shop"))}, want: "z/z"},
		"not an older one of my namespace, two paths": {own: asks, rivals: []desired.Rival{rival(made("m", "z", 4, "/shop"))}},

		"a younger one with a claim":                        {own: asks, rivals: []desired.Rival{rival(made("z", "z", 6, "/").Claims(at(7)))}, want: "z/z"},
		"a younger one with a claim of an overlapping path": {own: asks, rivals: []desired.Rival{rival(made("z", "z", 6, "/shop").Claims(at(7)))}, want: "z/z"},
		"a claim that its owner no longer asks for":         {own: asks, rivals: []desired.Rival{moved(rival(made("z", "z", 6, "/").Claims(at(7))))}, want: "z/z"},
		"a claim of one that is being deleted":              {own: asks, rivals: []desired.Rival{deleted(rival(made("z", "z", 6, "/").Claims(at(7))))}, want: "z/z"},
		"a younger one with an Ingress":                     {own: asks, rivals: []desired.Rival{serving(made("z", "z", 6, "/"), 7)}, want: "z/z"},
		"an Ingress of one that asks for another host":      {own: asks, rivals: []desired.Rival{moved(serving(made("z", "z", 6, "/"), 7))}},

		"my Ingress before an older one that asks":  {own: has, rivals: []desired.Rival{rival(made("z", "z", 4, "/"))}},
		"the older of two Ingresses":                {own: has, rivals: []desired.Rival{serving(made("z", "z", 6, "/"), 4)}, want: "z/z"},
		"my Ingress, the younger one of an overlap": {own: has, rivals: []desired.Rival{serving(made("z", "z", 4, "/shop"), 4)}},
		"my Ingress, and a claim of an overlap":     {own: has, rivals: []desired.Rival{rival(made("z", "z", 4, "/shop").Claims(at(4)))}},
		"a claim before my Ingress":                 {own: has, rivals: []desired.Rival{rival(made("z", "z", 6, "/").Claims(at(7)))}, want: "z/z"},

		"my claim before an older one that asks":     {own: claims, rivals: []desired.Rival{rival(made("a", "a", 1, "/"))}},
		"my claim before an older Ingress":           {own: claims, rivals: []desired.Rival{serving(made("a", "a", 1, "/"), 1)}},
		"the earlier one of two claims":              {own: claims, rivals: []desired.Rival{rival(made("z", "z", 6, "/").Claims(at(4)))}, want: "z/z"},
		"of two claims at the same time, by name":    {own: claims, rivals: []desired.Rival{rival(made("m", "a", 6, "/").Claims(at(5)))}, want: "m/a"},
		"my claim, and an earlier one of an overlap": {own: claims, rivals: []desired.Rival{rival(made("z", "z", 6, "/shop").Claims(at(4)))}},
	} {
		t.Run(name, func(t *testing.T) {
			in := desired.Inputs{Application: test.own.Application, Ingress: test.own.Ingress, Rivals: test.rivals}
			got := ""
			if holder := desired.Holder(in); holder != nil {
				got = holder.Namespace + "/" + holder.Name
			}
			if got != test.want {
				t.Errorf("the address belongs to %q, want %q", got, test.want)
			}
			found := plan(t, in)
			if hasIngress := len(found.Present) == 3; hasIngress != (test.want == "" && desired.HasClaim(in.Application)) {
				t.Errorf("the plan is %+v", found)
			}
			if removed := len(found.Absent) == 2; removed != (test.want != "") {
				t.Errorf("the plan is %+v", found)
			}
		})
	}
}

func TestAddressesThatAreInConflict(t *testing.T) {
	type address struct{ host, path string }
	const conflict, overlap, none = "conflict", "overlap", "none"
	for name, test := range map[string]struct {
		a, b address
		want string
	}{
		"nothing and the root":             {address{"h", ""}, address{"h", "/"}, conflict},
		"with and without a slash":         {address{"h", "/shop"}, address{"h", "/shop/"}, conflict},
		"a wildcard twice":                 {address{"*.h", "/"}, address{"*.h", "/"}, conflict},
		"a path below":                     {address{"h", "/shop"}, address{"h", "/"}, overlap},
		"a path far below":                 {address{"h", "/shop"}, address{"h", "/shop/a/b/"}, overlap},
		"paths that begin alike":           {address{"h", "/shop"}, address{"h", "/shopping"}, none},
		"siblings":                         {address{"h", "/a"}, address{"h", "/b"}, none},
		"two hosts":                        {address{"h", "/"}, address{"i", "/"}, none},
		"a wildcard and a name":            {address{"*.h", "/"}, address{"a.h", "/"}, overlap},
		"a wildcard and a path of a name":  {address{"*.h", "/a"}, address{"a.h", "/a/b"}, overlap},
		"a wildcard and another path":      {address{"*.h", "/a"}, address{"a.h", "/b"}, none},
		"a wildcard and its own level":     {address{"*.h", "/"}, address{"h", "/"}, none},
		"a wildcard and two levels below":  {address{"*.h", "/"}, address{"a.b.h", "/"}, none},
		"wildcards of two levels":          {address{"*.h", "/"}, address{"*.a.h", "/"}, none},
		"a wildcard and a name that is as": {address{"*.h", "/"}, address{"a.ah", "/"}, none},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(a address) desired.Address {
				return desired.WantedAddress(testkit.MakeApplication("a").Ingress(a.host, a.path, "").Obj())
			}
			for _, order := range [][2]desired.Address{{of(test.a), of(test.b)}, {of(test.b), of(test.a)}} {
				got := none
				if desired.Conflict("a", order[0], "b", order[1]) {
					got = overlap
				}
				if desired.Conflict("a", order[0], "a", order[1]) {
					got = conflict
				}
				if got != test.want {
					t.Errorf("%v: %s, want %s", order, got, test.want)
				}
			}
		})
	}
	nothing := desired.WantedAddress(testkit.MakeApplication("a").Obj())
	if desired.Conflict("a", nothing, "a", nothing) || desired.Conflict("a", nothing, "b", nothing) {
		t.Errorf("without an ingress the address is %v", nothing)
	}
}

func TestAClaimBeginsWithTheIngressOfAnEarlierRelease(t *testing.T) {
	mine := made("m", "m", 1, "/shop")
	for name, test := range map[string]struct {
		ingress *networkingv1.Ingress
		want    int
	}{
		"no Ingress":                       {want: 9},
		"an Ingress for what is asked for": {ingress: served(mine, 2), want: 2},
		"an Ingress for another path":      {ingress: served(made("m", "m", 1, "/"), 2), want: 9},
	} {
		claim := desired.Claim(desired.Inputs{Application: mine.Obj(), Ingress: test.ingress}, at(9).Time)
		if claim.Host != "a.example.com" || claim.Path != "/shop" || !claim.Since.Time.Equal(at(test.want).Time) {
			t.Errorf("%s: the claim is %+v", name, claim)
		}
	}
}
