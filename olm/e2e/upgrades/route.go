package upgrades

import (
	"fmt"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/graph"
)

// Edge is one upgrade.
type Edge struct {
	From, To *graph.Release
	// Kind is the kind of the edge.
	Kind graph.Kind
}

// Route is the way of one who installs a release and then follows a channel to its head.
type Route struct {
	// Start is the release to install, from the channel Install. Who leaves Install, because the followed channels lack
	// the release, switches after the installation.
	Start   *graph.Release
	Install string
	// Channels are all those that lead this way. The steps are the same in each, so one stands for all.
	Channels []string
	// Steps are in order; none when the start is the head.
	Steps []Edge
}

// Stays says that no release leads on from the start.
func (r Route) Stays() bool { return len(r.Steps) == 0 }

// String is for example "0.1.0 > 0.2.0 (candidate, fast)".
func (r Route) String() string {
	words := []string{r.Start.Version.String()}
	for _, step := range r.Steps {
		words = append(words, step.To.Version.String())
	}
	return strings.Join(words, " > ") + " (" + strings.Join(r.Channels, ", ") + ")"
}

// Routes lists the routes from each of the releases, in the order of the graph. A release that is not in the graph, or
// that OLM v0 installs from no channel (since all that have it skip it), is an error: nobody can get there to begin with.
// So is a route that does not lead to the head.
func Routes(g *graph.Graph, from []string) ([]Route, error) {
	var routes []Route
	for _, release := range g.Releases {
		if !slices.Contains(from, release.Name) {
			continue
		}
		for _, channel := range g.Channels {
			if release.Version.GT(channel.Highest().Version) {
				continue // Whoever comes with a newer release stays until the channel has caught up.
			}
			found, err := follow(g, release, channel)
			if err != nil {
				return nil, err
			}
			routes = merge(routes, *found)
		}
	}
	for _, name := range from {
		if g.Release(name) == nil {
			return nil, fmt.Errorf("the catalog has no bundle %s", name)
		}
	}
	return routes, nil
}

// follow walks from the release to the head of the channel.
func follow(g *graph.Graph, start *graph.Release, channel *graph.Channel) (*Route, error) {
	install, err := installable(g, start, channel)
	if err != nil {
		return nil, err
	}
	step, err := channel.V0()
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", channel.Name, err)
	}
	head := channel.Heads()[0]
	route := &Route{Start: start, Install: install, Channels: []string{channel.Name}}
	for at := start; at.Name != head.Name; {
		next := step(at)
		if next == nil || len(route.Steps) > len(g.Releases) {
			return nil, fmt.Errorf("channel %s: OLM does not get from %s to the head %s, it ends at %s", channel.Name, start.Name, head.Name, at.Name)
		}
		route.Steps = append(route.Steps, Edge{From: at, To: next.Release, Kind: next.Edge(at)})
		at = next.Release
	}
	return route, nil
}

// installable is the channel that the release can be installed from, the given one if possible.
func installable(g *graph.Graph, release *graph.Release, preferred *graph.Channel) (string, error) {
	for _, channel := range append([]*graph.Channel{preferred}, g.Channels...) {
		chain, err := channel.Chain()
		if err != nil {
			return "", fmt.Errorf("channel %s: %w", channel.Name, err)
		}
		if slices.ContainsFunc(chain, func(e *graph.Entry) bool { return e.Name == release.Name }) {
			return channel.Name, nil
		}
	}
	return "", fmt.Errorf("%s cannot be installed from any channel: all that have it skip it", release.Name)
}

// merge adds a route, or its channel to one that takes the same steps. One that begins in another channel is a way of
// its own.
func merge(routes []Route, route Route) []Route {
	direct := func(r Route) bool { return r.Install == r.Channels[0] }
	for i, other := range routes {
		if other.Start == route.Start && direct(other) && direct(route) && slices.Equal(other.Steps, route.Steps) {
			routes[i].Channels = append(other.Channels, route.Channels...)
			return routes
		}
	}
	return append(routes, route)
}
