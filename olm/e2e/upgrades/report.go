package upgrades

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Step has the measurements of one upgrade.
type Step struct {
	// From and To are versions, Kind is the kind of the edge between them.
	From, To, Kind string
	// Stage says what To is: released, under development, or made up for the test.
	Stage string
	// Took is the time from the approval until the new version is Succeeded.
	Took time.Duration
	// Requests is the number of requests during the upgrade. Failed of them got no correct answer in time. Slowest is the
	// longest time that a client waited.
	Requests, Failed int
	Slowest          time.Duration
	// Items were stored before. Lost of them could not be read afterwards.
	Items, Lost int
	// Pods existed before. Recreated of them were gone or new afterwards. Restarted is the number of container restarts.
	Pods, Recreated, Restarted int
	// Resources existed before. Changed of them had another spec or other metadata afterwards.
	Resources, Changed int
	// Templates is the number of Deployments whose pod template changed.
	Templates int
}

// Harmless tells whether users of caches and applications did not notice the upgrade. Without anything that they could have
// noticed it is false.
func (s Step) Harmless() bool {
	return s.Requests > 0 && s.Items > 0 && s.Pods > 0 && s.Resources > 0 &&
		s.Failed == 0 && s.Lost == 0 && s.Recreated == 0 && s.Restarted == 0 && s.Changed == 0 && s.Templates == 0
}

// Walk has the measurements of one route.
type Walk struct {
	// Channels are the channels of the route.
	Channels []string
	Steps    []Step
}

// Matrix has the measurements of all routes.
type Matrix struct {
	// OLM and Kubernetes are the versions of the cluster.
	OLM, Kubernetes string
	Walks           []Walk
}

// Markdown returns a page with the measurements. It shows the picture, a file in the same directory.
func Markdown(m Matrix, picture string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Upgrades, as walked\n\nOn Kubernetes %s with OLM %s. Every release is installed with its own code; clients write and read all the time.\n\n", m.Kubernetes, m.OLM)
	fmt.Fprintf(&out, "![%s](%s)\n\n", summary(m), picture)
	out.WriteString("| channel | from | to | edge | the new version is | seconds | requests | failed | slowest | items lost | pods recreated | restarts | resources changed | templates changed | |\n")
	out.WriteString("| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, walk := range m.Walks {
		for _, s := range walk.Steps {
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %.1f | %d | %d | %s | %d of %d | %d of %d | %d | %d of %d | %d | %s |\n",
				strings.Join(walk.Channels, ", "), s.From, s.To, s.Kind, s.Stage, s.Took.Seconds(), s.Requests, s.Failed, s.Slowest.Round(time.Millisecond),
				s.Lost, s.Items, s.Recreated, s.Pods, s.Restarted, s.Changed, s.Resources, s.Templates, verdict(s))
		}
	}
	return out.Bytes()
}

func verdict(s Step) string {
	if s.Harmless() {
		return "unnoticed"
	}
	return "**noticed**"
}

// summary returns the result in one sentence.
func summary(m Matrix) string {
	steps, harmless, requests, failed := 0, 0, 0, 0
	for _, walk := range m.Walks {
		for _, s := range walk.Steps {
			steps, requests, failed = steps+1, requests+s.Requests, failed+s.Failed
			if s.Harmless() {
				harmless++
			}
		}
	}
	return fmt.Sprintf("%d of %d upgrades went unnoticed, %d of %d requests failed", harmless, steps, failed, requests)
}
