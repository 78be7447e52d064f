package desired

import (
	"cmp"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
)

// wildcard is how a host begins that stands for all names one level below.
const wildcard = "*."

// Address is a host with a path, of which requests reach one Application. It is empty without an ingress.
type Address struct {
	Host string

	// Path has no "/" at the end: of a prefix, that does not matter.
	Path string
}

func addressOf(host, path string) Address { return Address{host, strings.TrimSuffix(path, "/")} }

// WantedAddress returns the address that the spec asks for.
func WantedAddress(application *v1alpha1.Application) Address {
	if wanted := application.Spec.Ingress; wanted != nil {
		return addressOf(wanted.Host, Path(wanted))
	}
	return Address{}
}

// ClaimedAddress returns the address that the Application has claimed, whether or not the spec still asks for it.
func ClaimedAddress(application *v1alpha1.Application) Address {
	if claim := application.Status.IngressClaim; claim != nil {
		return addressOf(claim.Host, claim.Path)
	}
	return Address{}
}

// HasClaim tells whether the Application has claimed what its spec asks for.
func HasClaim(application *v1alpha1.Application) bool {
	wanted := WantedAddress(application)
	return wanted != Address{} && wanted == ClaimedAddress(application)
}

// Wildcard returns the host that stands for a and its siblings, empty if a is such a host.
func (a Address) Wildcard() string {
	_, parent, found := strings.Cut(a.Host, ".")
	if !found || strings.HasPrefix(a.Host, wildcard) {
		return ""
	}
	return wildcard + parent
}

// overlaps tells whether there are requests that both addresses stand for, as pathType Prefix means it: element by element.
func (a Address) overlaps(b Address) bool {
	hosts := a.Host == b.Host || a.Wildcard() == b.Host || b.Wildcard() == a.Host
	return a != Address{} && b != Address{} && hosts && (strings.HasPrefix(a.Path+"/", b.Path+"/") || strings.HasPrefix(b.Path+"/", a.Path+"/"))
}

// Conflict tells whether Applications of two namespaces must not have two addresses at the same time. Those of one namespace may
// overlap, which is how it divides a host among them.
func Conflict(namespace string, address Address, otherNamespace string, other Address) bool {
	if namespace == otherNamespace {
		return address != Address{} && address == other
	}
	return address.overlaps(other)
}

// Rival is another Application whose address, wanted or claimed, is in conflict with one that is wanted.
type Rival struct {
	// Application is the object.
	Application *v1alpha1.Application

	// Ingress is its Ingress, nil if it has none.
	Ingress *networkingv1.Ingress

	// Waits is true if it has no claim, and somebody else holds what it wants.
	Waits bool
}

// Serves tells whether an Ingress leads to an address.
func Serves(ingress *networkingv1.Ingress, address Address) bool {
	return ingress != nil && slices.ContainsFunc(ingress.Spec.Rules, func(rule networkingv1.IngressRule) bool {
		return rule.HTTP != nil && slices.ContainsFunc(rule.HTTP.Paths, func(path networkingv1.HTTPIngressPath) bool {
			return addressOf(rule.Host, path.Path) == address
		})
	})
}

// The ranks of those who want an address.
const (
	// claims: its status says that it has the address.
	claims = iota

	// serves: it has an Ingress for the address, and no claim. So it was in releases up to 0.3.
	serves

	// asks: it has neither.
	asks
)

// standing is what an Application has of an address. Of two Applications, the one with the lower rank comes first, and of the same
// rank the one with the earlier time, namespace and name.
type standing struct {
	rank            int
	since           time.Time
	namespace, name string
}

func (a standing) before(b standing) bool {
	return cmp.Or(cmp.Compare(a.rank, b.rank), a.since.Compare(b.since),
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name)) < 0
}

// standingOf returns the standing of an Application, and the address that it is about: the one of its claim if that is relevant,
// otherwise the one of its spec. The address is empty if neither is relevant.
func standingOf(r Rival, relevant func(Address) bool) (standing, Address) {
	wanted, own := WantedAddress(r.Application), standing{namespace: r.Application.Namespace, name: r.Application.Name}
	switch {
	case relevant(ClaimedAddress(r.Application)):
		own.rank, own.since = claims, r.Application.Status.IngressClaim.Since.Time
		return own, ClaimedAddress(r.Application)
	case !relevant(wanted):
		return own, Address{}
	case Serves(r.Ingress, wanted):
		own.rank, own.since = serves, r.Ingress.CreationTimestamp.Time
	case r.Waits || !r.Application.DeletionTimestamp.IsZero():
		return own, Address{}
	default:
		own.rank, own.since = asks, r.Application.CreationTimestamp.Time
	}
	return own, wanted
}

// Holder returns the Application that keeps in.Application from having the address that it wants, nil if there is none. The
// Application that has claimed an address holds it; without a claim the one that has an Ingress for it, and otherwise the older one.
func Holder(in Inputs) *v1alpha1.Application {
	namespace, wanted := in.Application.Namespace, WantedAddress(in.Application)
	if (wanted == Address{}) {
		return nil
	}
	own, _ := standingOf(Rival{Application: in.Application, Ingress: in.Ingress}, func(address Address) bool { return address == wanted })
	var holder *v1alpha1.Application
	var first standing
	for _, rival := range in.Rivals {
		theirs, address := standingOf(rival, func(address Address) bool {
			return Conflict(namespace, wanted, rival.Application.Namespace, address)
		})
		switch {
		case address == Address{} || !theirs.before(own):
		case address != wanted && own.rank != asks: // Releases up to 0.3 allowed overlaps, and their Ingresses stay.
		case holder == nil || theirs.before(first):
			holder, first = rival.Application, theirs
		}
	}
	return holder
}

// HasHost tells whether the Application has what its spec asks for.
func HasHost(in Inputs) bool { return HasClaim(in.Application) && Holder(in) == nil }

// Claim returns the claim of what the spec asks for, from now on or, if an earlier release has made an Ingress for it, since then.
func Claim(in Inputs, now time.Time) *v1alpha1.IngressClaim {
	if Serves(in.Ingress, WantedAddress(in.Application)) {
		now = in.Ingress.CreationTimestamp.Time
	}
	wanted := in.Application.Spec.Ingress
	return &v1alpha1.IngressClaim{Host: wanted.Host, Path: Path(wanted), Since: metav1.NewMicroTime(now)}
}
