// Package picture draws the figures of a benchmark as SVG: lines over the number of custom resources, with the spread of all rounds. It is
// pure.
package picture

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Chart is one panel of a picture.
type Chart struct {
	Title, X, Y string
	// LogX and LogY make an axis logarithmic.
	LogX, LogY bool
	Lines      []Line
}

// Line is a series of points.
type Line struct {
	Name string
	// Reference marks what the others are compared with: it is dashed and grey.
	Reference bool
	Points    []Point
}

// Point is a median with its spread.
type Point struct{ X, Y, Low, High float64 }

const (
	panelWidth, panelHeight = 440, 380
	left, right, top, below = 64, 20, 54, 48
	legendLine              = 16
	titleHeight             = 66
)

var (
	colors = []string{"#0969da", "#bc4c00", "#1a7f37", "#8250df"}
	greys  = []string{"#57606a", "#8c959f", "#afb8c1"}
)

// SVG returns a picture with a title, a line below it, and the charts beside each other.
func SVG(title, subtitle string, charts []Chart) []byte {
	var out bytes.Buffer
	legend := 0
	for _, chart := range charts {
		legend = max(legend, len(chart.Lines))
	}
	const letter = 6 // The usual width of a letter of the subtitle.
	width, height := max(panelWidth*len(charts), letter*len(subtitle)+24)+24, titleHeight+panelHeight+legend*legendLine+12
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="Helvetica, Arial, sans-serif">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", html.EscapeString(title), width, height)
	text(&out, 24, 30, 16, "#24292f", "start", title)
	text(&out, 24, 50, 12, "#57606a", "start", subtitle)
	for i, chart := range charts {
		chart.draw(&out, float64(12+i*panelWidth), titleHeight)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (c Chart) draw(out *bytes.Buffer, x, y float64) {
	var xs, ys []float64
	for _, line := range c.Lines {
		for _, point := range line.Points {
			xs, ys = append(xs, point.X), append(ys, point.Low, point.High)
		}
	}
	horizontal := newScale(xs, c.LogX, x+left, x+panelWidth-right)
	vertical := newScale(ys, c.LogY, y+panelHeight-below, y+top)
	text(out, x+left, y+20, 14, "#24292f", "start", c.Title)
	text(out, x+left, y+38, 11, "#57606a", "start", c.Y)
	for _, tick := range vertical.ticks() {
		at := vertical.at(tick)
		fmt.Fprintf(out, `<path d="M%.1f %.1fH%.1f" stroke="#d8dee4" stroke-width="1"/>`+"\n", horizontal.from, at, horizontal.to)
		text(out, horizontal.from-8, at+4, 11, "#57606a", "end", label(tick))
	}
	for _, tick := range xTicks(horizontal, xs) {
		text(out, horizontal.at(tick), vertical.from+18, 11, "#57606a", "middle", label(tick))
	}
	text(out, (horizontal.from+horizontal.to)/2, vertical.from+36, 11, "#57606a", "middle", c.X)
	drawn := [2]int{}
	for i, line := range c.Lines {
		color, dash := colors[drawn[0]%len(colors)], ""
		if line.Reference {
			color, dash = greys[drawn[1]%len(greys)], ` stroke-dasharray="5 4"`
			drawn[1]++
		} else {
			drawn[0]++
		}
		line.draw(out, horizontal, vertical, color, dash)
		at := y + panelHeight + float64(i*legendLine) + 4
		fmt.Fprintf(out, `<path d="M%.1f %.1fh24" stroke="%s" stroke-width="2"%s/>`+"\n", horizontal.from, at-4, color, dash)
		text(out, horizontal.from+32, at, 12, "#24292f", "start", line.Name)
	}
}

// xTicks returns the measured values, if they are few, and otherwise those that a scale proposes.
func xTicks(s scale, values []float64) []float64 {
	var own []float64
	for _, value := range values {
		seen := false
		for _, other := range own {
			seen = seen || s.at(other)-s.at(value) < 30 && s.at(value)-s.at(other) < 30
		}
		if !seen {
			own = append(own, value)
		}
	}
	if len(own) > 0 && len(own) <= 6 {
		return own
	}
	return s.ticks()
}

func (l Line) draw(out *bytes.Buffer, horizontal, vertical scale, color, dash string) {
	var path strings.Builder
	for i, point := range l.Points {
		x, y := horizontal.at(point.X), vertical.at(point.Y)
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x, y)
		if low, high := vertical.at(point.Low), vertical.at(point.High); low-high > 1 {
			fmt.Fprintf(out, `<path d="M%.1f %.1fV%.1fm-4 0h8M%.1f %.1fh8" stroke="%s" stroke-width="1" fill="none"/>`+"\n", x, low, high, x-4, low, color)
		}
		fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, y, color)
	}
	fmt.Fprintf(out, `<path d="%s" stroke="%s" stroke-width="2" fill="none"%s/>`+"\n", path.String(), color, dash)
}

func text(out *bytes.Buffer, x, y float64, size int, color, anchor, content string) {
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="%d" fill="%s" text-anchor="%s">%s</text>`+"\n", x, y, size, color, anchor, html.EscapeString(content))
}
