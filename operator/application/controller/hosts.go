package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
)

// hostField is the field index of Applications by host. The keys of a host are itself and, unless it is a wildcard, below and the
// wildcard that stands for it.
const (
	hostField = "ingress.host"
	below     = "below "
)

// unclaimedRecheck is how long an Application waits for another one that has not claimed its host yet.
const unclaimedRecheck = 5 * time.Second

// hostKeys returns the keys of the hosts that an Application wants and has claimed.
func hostKeys(application *v1alpha1.Application) []string {
	var keys []string
	for _, address := range addresses(application) {
		keys = append(keys, address.Host)
		if wildcard := address.Wildcard(); wildcard != "" {
			keys = append(keys, below+wildcard)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// addresses returns what an Application wants and has claimed.
func addresses(application *v1alpha1.Application) []desired.Address {
	return slices.DeleteFunc([]desired.Address{desired.WantedAddress(application), desired.ClaimedAddress(application)},
		func(address desired.Address) bool { return address == desired.Address{} })
}

// inConflict returns the other Applications that want or have claimed an address which is in conflict with the given one of an
// Application.
func inConflict(ctx context.Context, cached client.Reader, application *v1alpha1.Application, address desired.Address) ([]v1alpha1.Application, error) {
	var found []v1alpha1.Application
	for _, key := range []string{address.Host, cmp.Or(address.Wildcard(), below+address.Host)} {
		list := &v1alpha1.ApplicationList{}
		if err := cached.List(ctx, list, client.MatchingFields{hostField: key}); err != nil {
			return nil, fmt.Errorf("list the Applications with the host %s: %w", address.Host, err)
		}
		found = append(found, list.Items...)
	}
	found = slices.DeleteFunc(found, func(other v1alpha1.Application) bool {
		return other.Namespace == application.Namespace && other.Name == application.Name ||
			!slices.ContainsFunc(addresses(&other), func(theirs desired.Address) bool {
				return desired.Conflict(application.Namespace, address, other.Namespace, theirs)
			})
	})
	slices.SortFunc(found, func(a, b v1alpha1.Application) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(found, func(a, b v1alpha1.Application) bool { return a.Namespace == b.Namespace && a.Name == b.Name }), nil
}

// hosts reads what decides about the host of an Application.
type hosts struct{ cached, live client.Reader }

// add adds the Application's Ingress and its rivals to the inputs.
func (h hosts) add(ctx context.Context, in *desired.Inputs) (err error) {
	if in.Ingress, err = ingressOf(ctx, h.cached, in.Application); err != nil {
		return err
	}
	if in.Rivals, err = h.holders(ctx, in.Application); err != nil || desired.Holder(*in) != nil {
		return err // Those who only wait for the host as well do not matter.
	}
	for i := range in.Rivals {
		rival := &in.Rivals[i]
		theirs := desired.Inputs{Application: rival.Application, Ingress: rival.Ingress}
		if theirs.Rivals, err = h.holders(ctx, rival.Application); err != nil {
			return err
		}
		rival.Waits = desired.Holder(theirs) != nil
	}
	return nil
}

// confirm reads live what add has read from the cache, as far as it may have changed: who had claimed nothing and could have.
func (h hosts) confirm(ctx context.Context, in *desired.Inputs) (err error) {
	if err := h.add(ctx, in); err != nil || len(in.Rivals) == 0 {
		return err
	}
	if in.Ingress != nil {
		if in.Ingress, err = ingressOf(ctx, h.live, in.Application); err != nil {
			return err
		}
	}
	for i := range in.Rivals {
		rival := &in.Rivals[i]
		if rival.Waits || rival.Application.Status.IngressClaim != nil {
			continue
		}
		now := &v1alpha1.Application{}
		if err := h.live.Get(ctx, client.ObjectKeyFromObject(rival.Application), now); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Application %s/%s: %w", rival.Application.Namespace, rival.Application.Name, err)
		} else if err == nil {
			rival.Application = now
		}
	}
	return nil
}

// holders returns the rivals of an Application, as if all that hold nothing were waiting.
func (h hosts) holders(ctx context.Context, application *v1alpha1.Application) ([]desired.Rival, error) {
	wanted := desired.WantedAddress(application)
	if (wanted == desired.Address{}) {
		return nil, nil
	}
	others, err := inConflict(ctx, h.cached, application, wanted)
	if err != nil {
		return nil, err
	}
	var rivals []desired.Rival
	for i := range others {
		rival := desired.Rival{Application: &others[i], Waits: true}
		if rival.Ingress, err = ingressOf(ctx, h.cached, rival.Application); err != nil {
			return nil, err
		}
		rivals = append(rivals, rival)
	}
	return rivals, nil
}

// ingressOf returns the Ingress that belongs to an Application, nil if there is none.
func ingressOf(ctx context.Context, reader client.Reader, application *v1alpha1.Application) (*networkingv1.Ingress, error) {
	ingress := &networkingv1.Ingress{}
	err := reader.Get(ctx, client.ObjectKeyFromObject(application), ingress)
	switch {
	case apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(ingress, application):
		return nil, nil // Documented: there is none.
	case err != nil:
		return nil, fmt.Errorf("read Ingress %s/%s: %w", application.Namespace, application.Name, err)
	}
	return ingress, nil
}

// claimHost records that the Application has the host that its spec asks for, unless somebody else holds it, and returns the
// inputs with that record. One claim is made at a time, and the record is written before the Ingress, so that the next claim finds it.
func (r *Reconciler) claimHost(ctx context.Context, in desired.Inputs) (desired.Inputs, error) {
	if in.Application.Spec.Ingress == nil || desired.HasClaim(in.Application) || desired.Holder(in) != nil {
		return in, nil
	}
	r.claiming.Lock()
	defer r.claiming.Unlock()
	if err := r.hosts().confirm(ctx, &in); err != nil || desired.Holder(in) != nil {
		return in, err
	}
	claimed := in.Application.DeepCopy()
	claimed.Status.IngressClaim = desired.Claim(in, r.Clock.Now())
	if err := r.Reporter.WriteStatus(ctx, in.Application, claimed); err != nil {
		return in, err
	}
	in.Application = claimed
	return in, nil
}

// hosts returns the reader of what decides about hosts.
func (r *Reconciler) hosts() hosts { return hosts{cached: r.Client, live: r.Live} }
