package upgrades

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Step is what one upgrade was measured to do.
type Step struct {
	// From and To are versions, Kind is the kind of the edge between them.
	From, To, Kind string
	// Stage says what To is: released, under development, or made up for the test.
	Stage string
	// Took is the time from the approval until OLM calls the new version Succeeded.
	Took time.Duration
	// Requests were sent by clients meanwhile, Failed of them got no right answer in time. Slowest is the longest that
	// a client waited.
	Requests, Failed int
	Slowest          time.Duration
	// Items were stored before, Lost of them could not be read afterwards.
	Items, Lost int
	// Pods served before. Recreated are those that were gone, or new, afterwards; Restarted is the number of container restarts.
	Pods, Recreated, Restarted int
	// Resources were there before. Changed are those whose spec or metadata was another afterwards.
	Resources, Changed int
	// Templates counts Deployments whose pod template was another afterwards.
	Templates int
}

// Harmless says that nobody who uses what the operator looks after has noticed the upgrade, and that there was
// something to notice.
func (s Step) Harmless() bool {
	return s.Requests > 0 && s.Items > 0 && s.Pods > 0 && s.Resources > 0 &&
		s.Failed == 0 && s.Lost == 0 && s.Recreated == 0 && s.Restarted == 0 && s.Changed == 0 && s.Templates == 0
}

// Walk is one way from an installation to a head.
type Walk struct {
	// Channels are those that lead this way.
	Channels []string
	Steps    []Step
}

// Matrix is all that was walked.
type Matrix struct {
	// OLM and Kubernetes are the versions it was walked on.
	OLM, Kubernetes string
	Walks           []Walk
}

// Markdown is the page about the matrix; the picture is expected beside it under the name given.
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

// summary is the matrix in one sentence.
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
