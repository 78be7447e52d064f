package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// awaitIngress waits until an Application of any namespace has an Ingress for its host, and returns the UID of the Ingress.
func (s *suite) awaitIngress(application *v1alpha1.Application) types.UID {
	s.Helper()
	ingress := &networkingv1.Ingress{}
	s.Await("the Ingress of "+application.Name, func(ctx context.Context) error {
		if err := s.Read(ctx, application); err != nil {
			return err
		}
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(application), ingress); err != nil {
			return err
		}
		if ingress.Spec.Rules[0].Host != application.Spec.Ingress.Host {
			return fmt.Errorf("its host is %s", ingress.Spec.Rules[0].Host)
		}
		return nil
	})
	return ingress.UID
}

// assertSameIngress fails unless an Application still has the Ingress with the given UID.
func (s *suite) assertSameIngress(application *v1alpha1.Application, uid types.UID) {
	s.Helper()
	if now := s.awaitIngress(application); now != uid {
		s.Errorf("the Ingress of %s was created anew", application.Name)
	}
}

// An old Application whose host is edited does not take the host of another namespace: it loses its own Ingress, and the
// holder notices nothing.
func TestAHostIsNotTakenOverByAnEdit(t *testing.T) {
	other := cluster.Namespace(t)
	s := newSuite(t, other)
	host := s.Namespace + ".example.com"
	intruder := s.create(claim("intruder", "intruder."+host, "/"))
	s.awaitReady("intruder", 1)
	awaitLaterSecond(t, intruder)
	victim := s.create(claim("victim", host, "/").Namespace(other))
	uid := s.awaitIngress(victim)
	s.Edit(s.application("intruder"), `{"spec":{"ingress":{"host":"`+host+`"}}}`)
	s.Urgently(func() { s.awaitReason(intruder, v1alpha1.ReasonHostConflict) })
	s.assertNoIngress("intruder")
	s.assertSameIngress(victim, uid)
	s.Edit(s.application("intruder"), `{"spec":{"ingress":{"host":"intruder.`+host+`"}}}`)
	s.awaitReady("intruder", 1)
	s.assertSameIngress(victim, uid)
}

// Requests for a path or a name below that of another namespace must not be drawn away from there.
func TestAnOverlapWithAnotherNamespaceIsAConflict(t *testing.T) {
	for name, test := range map[string]struct{ holderHost, holderPath, host, path string }{
		"a path below":               {holderPath: "/", path: "/shop"},
		"a path two levels below":    {holderPath: "/shop", path: "/shop/cart/"},
		"a path above":               {holderPath: "/shop", path: "/"},
		"a host below a wildcard":    {holderHost: "*.", holderPath: "/", host: "a.", path: "/"},
		"a wildcard above a host":    {holderHost: "a.", holderPath: "/", host: "*.", path: "/"},
		"a wildcard and a path of a": {holderHost: "*.", holderPath: "/shop", host: "a.", path: "/shop/cart"},
	} {
		t.Run(name, func(t *testing.T) {
			other := cluster.Namespace(t)
			s := newSuite(t, other)
			host := s.Namespace + ".example.com"
			holder := s.create(claim("holder", test.holderHost+host, test.holderPath).Namespace(other))
			uid := s.awaitIngress(holder)
			awaitLaterSecond(t, holder)
			second := s.create(claim("second", test.host+host, test.path))
			_, message := s.awaitReason(second, v1alpha1.ReasonHostConflict)
			if !strings.Contains(message, "an Application of another namespace") || strings.Contains(message, other) || strings.Contains(message, "holder") {
				t.Errorf("the message is %q", message)
			}
			s.awaitRunning("second")
			s.assertNoIngress("second")
			s.assertSameIngress(holder, uid)
			s.Edit(holder, `{"spec":{"ingress":null}}`)
			s.Urgently(func() { s.awaitReady("second", 1) })
			s.awaitIngress(second)
		})
	}
}

func TestWhatDoesNotOverlapIsNoConflictWithAnotherNamespace(t *testing.T) {
	other := cluster.Namespace(t)
	s := newSuite(t, other)
	host := s.Namespace + ".example.com"
	holder := s.create(claim("shop", host, "/shop").Namespace(other))
	wildcard := s.create(claim("wildcard", "*."+host, "/").Namespace(other))
	s.awaitIngress(holder)
	s.awaitIngress(wildcard)
	s.create(claim("a", host, "/shopping"))
	s.create(claim("b", "two.levels."+host, "/"))
	for _, name := range []string{"a", "b"} {
		s.awaitReady(name, 1)
	}
}

// Releases up to 0.3 record no claims: what was made by them keeps its Ingress.
func TestIngressesOfEarlierReleasesStay(t *testing.T) {
	other := cluster.Namespace(t)
	s := newSuite(t, other)
	host := s.Namespace + ".example.com"
	older := s.create(claim("older", "older."+host, "/"))
	s.awaitReady("older", 1)
	awaitLaterSecond(t, older)
	holder := s.create(claim("holder", host, "/").Namespace(other))
	below := s.create(claim("below", "below.example.com", "/below-"+s.Namespace).Namespace(other))
	kept := map[*v1alpha1.Application]types.UID{holder: s.awaitIngress(holder), below: s.awaitIngress(below)}
	s.Operator.Stop()
	for _, application := range []*v1alpha1.Application{older, holder, below} {
		s.forgetClaim(application)
	}
	s.Edit(s.application("older"), `{"spec":{"ingress":{"host":"`+host+`"}}}`)
	s.StartOperator()
	s.awaitReason(older, v1alpha1.ReasonHostConflict)
	for application, uid := range kept {
		s.assertSameIngress(application, uid)
	}
	s.assertNoIngress("older")
}

// Overlaps of two namespaces that an earlier release allowed stay as well, in whichever order they are reconciled.
func TestOverlapsOfEarlierReleasesStay(t *testing.T) {
	other := cluster.Namespace(t)
	s := newSuite(t, other)
	host := s.Namespace + ".example.com"
	above := s.create(claim("above", host, "/shop").Namespace(other))
	below := s.create(claim("below", host, "/basket"))
	kept := map[*v1alpha1.Application]types.UID{above: s.awaitIngress(above), below: s.awaitIngress(below)}
	s.awaitReady("below", 1)
	s.Operator.Stop()
	for application := range kept { // As an earlier release would have made it.
		s.forgetClaim(application)
	}
	s.Edit(s.application("below"), `{"spec":{"ingress":{"path":"/shop/basket"}}}`)
	ingress := testenv.Named[networkingv1.Ingress](s.Env, "below")
	if err := s.Read(t.Context(), ingress); err != nil {
		t.Fatal(err)
	}
	ingress.Spec.Rules[0].HTTP.Paths[0].Path = "/shop/basket"
	if err := cluster.Client.Update(t.Context(), ingress); err != nil {
		t.Fatal(err)
	}
	s.StartOperator()
	s.awaitReady("below", 1)
	for application, uid := range kept {
		s.assertSameIngress(application, uid)
	}
	if deletions := s.Operator.Traffic.Count(http.MethodDelete, "/ingresses/"); deletions > 0 {
		t.Errorf("%d Ingresses were deleted", deletions)
	}
}

// forgetClaim makes the status what a release up to 0.3 would have written.
func (s *suite) forgetClaim(application *v1alpha1.Application) {
	s.Helper()
	err := cluster.Client.Status().Patch(s.Context(), application.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"ingressClaim":null}}`)))
	if err != nil {
		s.Fatal(err)
	}
}

// Of two Applications that are created at the same moment, one gets the host, and no Ingress is ever deleted.
func TestOfTwoAtTheSameMomentOneGetsTheHost(t *testing.T) {
	const pairs = 12
	other := cluster.Namespace(t)
	s := newSuite(t, other)
	var all []*v1alpha1.Application
	for i := range pairs {
		name, host := fmt.Sprintf("pair-%d", i), fmt.Sprintf("pair-%d.%s.example.com", i, s.Namespace)
		all = append(all, claim(name, host, "/").Namespace(s.Namespace).Replicas(0).Obj(),
			claim(name, host, []string{"/", "/shop"}[i%2]).Namespace(other).Replicas(0).Obj())
	}
	var group sync.WaitGroup
	errs := make([]error, len(all))
	for i, application := range all {
		group.Go(func() { errs[i] = cluster.Client.Create(t.Context(), application) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(all, 2) {
		s.Await("one of two has the host", func(ctx context.Context) error { return oneOfTwo(ctx, pair) })
	}
	if deletions := s.Operator.Traffic.Count(http.MethodDelete, "/ingresses/"); deletions > 0 {
		t.Errorf("%d Ingresses were deleted", deletions)
	}
}

// oneOfTwo returns nil if one of two Applications is Ready with an Ingress, and the other one has a conflict and none.
func oneOfTwo(ctx context.Context, pair []*v1alpha1.Application) error {
	var reasons []string
	ingresses := 0
	for _, application := range pair {
		now := &v1alpha1.Application{}
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(application), now); err != nil {
			return err
		}
		ready := slices.IndexFunc(now.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionReady })
		if ready < 0 {
			return errors.New("there is no status yet")
		}
		reasons = append(reasons, now.Status.Conditions[ready].Reason)
		err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(application), &networkingv1.Ingress{})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if !apierrors.IsNotFound(err) {
			ingresses++
		}
	}
	slices.Sort(reasons)
	if !slices.Equal(reasons, []string{v1alpha1.ReasonHostConflict, v1alpha1.ReasonScaledToZero}) || ingresses != 1 {
		return fmt.Errorf("%d Ingresses, and the reasons are %v", ingresses, reasons)
	}
	return nil
}
