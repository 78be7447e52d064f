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
	Kind     graph.Kind
}

// Route is the path from the installation of a release to the head of a channel.
type Route struct {
	// Start is the release to install, from the channel Install. If that is not the first of Channels, because they do not have
	// the release, the Subscription changes to it after the installation.
	Start   *graph.Release
	Install string
	// Channels have the same steps, so a test of one of them is enough.
	Channels []string
	// Steps are the upgrades in order. There are none if the start is the head.
	Steps []Edge
}

// Stays tells whether the route has no upgrade.
func (r Route) Stays() bool { return len(r.Steps) == 0 }

// Versions returns the versions on the way, the start first.
func (r Route) Versions() []string {
	versions := []string{r.Start.Version.String()}
	for _, step := range r.Steps {
		versions = append(versions, step.To.Version.String())
	}
	return versions
}

// String returns for example "0.1.0 > 0.2.0 (candidate, fast)".
func (r Route) String() string {
	return strings.Join(r.Versions(), " > ") + " (" + strings.Join(r.Channels, ", ") + ")"
}

// Routes returns the routes from each of the releases, in the order of the graph. A release that is not in the graph is an
// error. So is one that OLM v0 installs from no channel, because all that have it skip it, and a route that does not lead to
// the head.
func Routes(g *graph.Graph, from []string) ([]Route, error) {
	var routes []Route
	for _, release := range g.Releases {
		if !slices.Contains(from, release.Name) {
			continue
		}
		for _, channel := range g.Channels {
			if release.Version.GT(channel.Highest().Version) {
				continue // There is no upgrade until the channel has a newer release.
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

// Pinned returns routes from the releases along edges of any channel, as OLM v1 upgrades to a pinned version. Together they take every
// edge between two consecutive releases, and every edge to the highest release, once; with every they take all edges.
func Pinned(g *graph.Graph, from []string, every bool) []Route {
	left := map[Edge]bool{}
	for i, start := range g.Releases {
		later := g.Releases[i+1:]
		for n, to := range later {
			kind := g.Edge(start, to)
			if kind != "" && slices.Contains(from, start.Name) && (every || n == 0 || n == len(later)-1) {
				left[Edge{From: start, To: to, Kind: kind}] = true
			}
		}
	}
	var routes []Route
	for _, start := range g.Releases {
		for steps := take(g, left, start); len(steps) > 0; steps = take(g, left, start) {
			routes = append(routes, Route{Start: start, Channels: []string{"any"}, Steps: steps})
		}
	}
	return routes
}

// take removes the edges of a path from a release, which leads to the nearest release each time, and returns them.
func take(g *graph.Graph, left map[Edge]bool, at *graph.Release) (steps []Edge) {
	for edge := nearest(g, left, at); edge.To != nil; edge = nearest(g, left, edge.To) {
		delete(left, edge)
		steps = append(steps, edge)
	}
	return steps
}

// nearest returns the edge from a release to the lowest one, without To if there is none.
func nearest(g *graph.Graph, edges map[Edge]bool, from *graph.Release) Edge {
	for _, to := range g.Releases {
		for _, kind := range []graph.Kind{graph.Replaces, graph.Skips, graph.SkipRange} {
			if edge := (Edge{From: from, To: to, Kind: kind}); edges[edge] {
				return edge
			}
		}
	}
	return Edge{}
}

// follow returns the route from the release to the head of the channel.
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

// installable returns a channel from which the release can be installed, the preferred one if possible.
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

// merge adds a route, or adds its channel to a route with the same steps. A route that is installed from another channel stays
// separate.
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
