package upgrades

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// Measures of the picture, in pixels.
const (
	margin   = 24
	heading  = 64
	lane     = 132
	boxWide  = 120
	boxHigh  = 44
	arrow    = 280
	textSize = 12
)

// laneSteps is how many upgrades are drawn in one line, so that the text can be read on a page.
const laneSteps = 3

// Colours with enough contrast on white. The text has the same information.
const (
	good  = "#1a7f37"
	bad   = "#cf222e"
	plain = "#24292f"
	faint = "#57606a"
)

// Picture draws each route as lines of versions, with the measurements of each upgrade at its arrow.
func Picture(m Matrix) []byte {
	parts := split(m.Walks)
	longest := 1
	for _, part := range parts {
		longest = max(longest, len(part.steps))
	}
	d := drawing{wide: max(2*margin+(longest+1)*boxWide+longest*arrow, 560), high: heading + len(parts)*lane + margin}
	d.begin(summary(m))
	d.text(margin, margin+10, 16, plain, "start", summary(m))
	d.text(margin, margin+30, textSize, faint, "start", fmt.Sprintf("Kubernetes %s, OLM %s. Clients write and read all the time; a cache's items live in memory only.", m.Kubernetes, m.OLM))
	for i, part := range parts {
		d.part(heading+i*lane, part)
	}
	d.out.WriteString("</svg>\n")
	return d.out.Bytes()
}

type drawing struct {
	wide, high int
	out        bytes.Buffer
}

func (d *drawing) begin(title string) {
	fmt.Fprintf(&d.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="Helvetica, Arial, sans-serif">`+"\n", d.wide, d.high, d.wide, d.high)
	fmt.Fprintf(&d.out, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&d.out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", d.wide, d.high)
}

// part is a line of a walk.
type part struct {
	title, first string // first says what the first version is.
	steps        []Step
}

// split returns the lines of all walks.
func split(walks []Walk) (parts []part) {
	for _, walk := range walks {
		channels := "channel " + strings.Join(walk.Channels, ", ")
		next := part{title: channels, first: "installed"}
		for steps := range slices.Chunk(walk.Steps, laneSteps) {
			next.steps = steps
			parts = append(parts, next)
			next = part{title: channels + ", continued", first: steps[len(steps)-1].Stage}
		}
	}
	return parts
}

func (d *drawing) part(top int, p part) {
	d.text(margin, top+22, textSize, faint, "start", p.title)
	middle := top + 74
	x := margin
	d.box(x, middle, p.steps[0].From, p.first, plain)
	for _, s := range p.steps {
		d.step(x+boxWide, middle, s)
		x += boxWide + arrow
		d.box(x, middle, s.To, s.Stage, colour(s))
	}
}

func (d *drawing) box(x, middle int, version, what, colour string) {
	fmt.Fprintf(&d.out, `<rect x="%d" y="%d" width="%d" height="%d" rx="8" fill="#f6f8fa" stroke="%s" stroke-width="1.5"/>`+"\n", x, middle-boxHigh/2, boxWide, boxHigh, colour)
	d.text(x+boxWide/2, middle-2, 15, plain, "middle", version)
	d.text(x+boxWide/2, middle+14, 10, faint, "middle", what)
}

func (d *drawing) step(x, middle int, s Step) {
	end := x + arrow
	fmt.Fprintf(&d.out, `<path d="M%d %dH%d" stroke="%s" stroke-width="2" fill="none"/>`+"\n", x+4, middle, end-10, colour(s))
	fmt.Fprintf(&d.out, `<path d="M%d %dl-9 -5v10z" fill="%s"/>`+"\n", end-3, middle, colour(s))
	centre := x + arrow/2
	d.text(centre, middle-24, textSize, colour(s), "middle", fmt.Sprintf("%s: %s, %.0f s", verdictWord(s), s.Kind, s.Took.Seconds()))
	d.text(centre, middle-8, 11, plain, "middle", fmt.Sprintf("%d of %d requests failed, slowest %s", s.Failed, s.Requests, s.Slowest.Round(time.Millisecond)))
	d.text(centre, middle+17, 11, plain, "middle", fmt.Sprintf("%d of %d items lost, %d restarts", s.Lost, s.Items, s.Restarted))
	d.text(centre, middle+32, 11, plain, "middle", fmt.Sprintf("%d of %d pods recreated, %d templates changed", s.Recreated, s.Pods, s.Templates))
	d.text(centre, middle+47, 11, plain, "middle", fmt.Sprintf("%d of %d resources changed", s.Changed, s.Resources))
}

func verdictWord(s Step) string { return strings.Trim(verdict(s), "*") }

func colour(s Step) string {
	if s.Harmless() {
		return good
	}
	return bad
}

func (d *drawing) text(x, y, size int, colour, anchor, words string) {
	fmt.Fprintf(&d.out, `<text x="%d" y="%d" font-size="%d" fill="%s" text-anchor="%s">%s</text>`+"\n", x, y, size, colour, anchor, html.EscapeString(words))
}
