package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/memcached-operator/hack/project"
)

// TemplateFile is the template in which people edit the upgrade graph, relative to the root of the checkout.
const TemplateFile = "catalog/" + project.Package + ".template.yaml"

// Template is a template. It is edited as text, so that everything else stays as people wrote it.
type Template struct {
	content  []byte
	document *yaml.Node
	entries  *yaml.Node
}

// LoadTemplate reads the template of the checkout at root.
func LoadTemplate(root string) (*Template, error) {
	content, err := os.ReadFile(filepath.Join(root, TemplateFile))
	if err != nil {
		return nil, fmt.Errorf("read the template of the catalog: %w", err)
	}
	return ParseTemplate(content)
}

// ParseTemplate parses the content of a template.
func ParseTemplate(content []byte) (*Template, error) {
	var document yaml.Node
	var fields any // Unlike a node, it refuses a key that is there twice.
	if err := errors.Join(yaml.Unmarshal(content, &document), yaml.Unmarshal(content, &fields)); err != nil {
		return nil, fmt.Errorf("%s: %w", TemplateFile, err)
	}
	t := &Template{content: content, document: &document}
	if len(document.Content) == 1 {
		t.entries = field(document.Content[0], "entries")
	}
	if t.entries == nil || t.entries.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s has no list called entries", TemplateFile)
	}
	return t, nil
}

// Content returns the text of the template.
func (t *Template) Content() []byte { return t.content }

// Add adds a version to the channels, as the entry that replaces their head and that all older releases can be upgraded to,
// and its bundle after the others. It does not change an entry that people have prepared. It is an error if a channel does not
// exist, or if the template already has the bundle; then the template stays as it is.
func (t *Template) Add(version, bundleImage string, channels []string) error {
	changed := *t
	err := changed.add(version, bundleImage, channels)
	if err == nil {
		*t = changed
	}
	return err
}

func (t *Template) add(version, bundleImage string, channels []string) error {
	if slices.Contains(t.Bundles(), bundleImage) {
		return fmt.Errorf("%s already has the bundle %s", TemplateFile, bundleImage)
	}
	for _, name := range channels {
		i := slices.IndexFunc(t.bySchema("olm.channel"), func(e *yaml.Node) bool { return text(e, "name") == name })
		if i < 0 {
			return fmt.Errorf("%s has no channel %q", TemplateFile, name)
		}
		if err := t.addEntry(t.bySchema("olm.channel")[i], version); err != nil {
			return fmt.Errorf("channel %s: %w", name, err)
		}
	}
	others := t.bySchema("olm.bundle")
	if len(others) == 0 {
		others = t.entries.Content
	}
	return t.insert(t.entries, others, "schema: olm.bundle", "image: "+bundleImage)
}

// Bundles returns the bundle images in the template, in order.
func (t *Template) Bundles() []string {
	var images []string
	for _, entry := range t.bySchema("olm.bundle") {
		images = append(images, text(entry, "image"))
	}
	return images
}

// Rename replaces every bundle image by the one that the function returns for it.
func (t *Template) Rename(to func(image string) (string, error)) error {
	for _, image := range t.Bundles() {
		renamed, err := to(image)
		if err != nil {
			return err
		}
		t.content = bytes.ReplaceAll(t.content, []byte(image), []byte(renamed))
	}
	return t.update(t.content)
}

// Channels returns the names of the channels, in order.
func (t *Template) Channels() []string {
	var names []string
	for _, entry := range t.bySchema("olm.channel") {
		names = append(names, text(entry, "name"))
	}
	return names
}

// bySchema returns the documents of a schema, in order.
func (t *Template) bySchema(schema string) []*yaml.Node {
	var found []*yaml.Node
	for _, entry := range t.entries.Content {
		if text(entry, "schema") == schema {
			found = append(found, entry)
		}
	}
	return found
}

func (t *Template) addEntry(channel *yaml.Node, version string) error {
	entries := field(channel, "entries")
	if entries == nil || entries.Kind != yaml.SequenceNode {
		return errors.New("it has no list called entries")
	}
	name := project.CSVName(version)
	if slices.ContainsFunc(entries.Content, func(entry *yaml.Node) bool { return text(entry, "name") == name }) {
		return nil
	}
	heads, err := heads(entries)
	if err != nil {
		return err
	}
	fields := []string{"name: " + name}
	if len(heads) == 1 {
		fields = append(fields, "replaces: "+heads[0], "skipRange: '"+project.SkipRange(version)+"'")
	}
	return t.insert(entries, entries.Content, fields...)
}

// insert adds an item with the given fields to a list, after the last one of some of its items.
func (t *Template) insert(list *yaml.Node, after []*yaml.Node, fields ...string) error {
	lines := strings.SplitAfter(string(t.content), "\n")
	var at, indent int // The number of the line to insert after, and the spaces before the dash of an item.
	switch {
	case len(after) == 0: // The list was written as [] behind its name.
		at = list.Line
		name := strings.TrimRight(lines[at-1][:list.Column-1], " ")
		lines[at-1], indent = name+"\n", len(name)-len(strings.TrimLeft(name, " "))
	case list.Style&yaml.FlowStyle != 0:
		return fmt.Errorf("line %d: write the list with a line for each item", list.Line)
	default:
		at, indent = lastLine(after[len(after)-1]), list.Column-1
	}
	if !strings.HasSuffix(lines[at-1], "\n") {
		lines[at-1] += "\n"
	}
	text := strings.Repeat(" ", indent) + "- " + strings.Join(fields, "\n"+strings.Repeat(" ", indent+2)) + "\n"
	before := parts(t.document)
	err := t.update([]byte(strings.Join(slices.Insert(lines, at, text), "")))
	if after := parts(t.document); err != nil || len(after) != len(before)+1+2*len(fields) || !isWithin(before, after) {
		return fmt.Errorf("line %d: nothing can be added below it without changing the rest, for example a text of several lines: write it in one line, or add this by hand: %s",
			at, strings.Join(fields, ", "))
	}
	return nil
}

// parts returns all that a node says, in order.
func parts(node *yaml.Node) []string {
	all := []string{fmt.Sprint(node.Kind, node.Tag, node.Value)}
	for _, part := range node.Content {
		all = append(all, parts(part)...)
	}
	return all
}

// isWithin tells whether a list is left of another one when some of its elements are taken away.
func isWithin(list, other []string) bool {
	for _, element := range other {
		if len(list) > 0 && list[0] == element {
			list = list[1:]
		}
	}
	return len(list) == 0
}

// update replaces the text of the template.
func (t *Template) update(content []byte) error {
	updated, err := ParseTemplate(content)
	if err == nil {
		*t = *updated
	}
	return err
}

// lastLine returns the number of the last line of a node.
func lastLine(node *yaml.Node) int {
	last := node.Line
	for _, part := range node.Content {
		last = max(last, lastLine(part))
	}
	return last
}

// heads returns the entries that no other replaces or skips: one, or none in an empty channel.
func heads(entries *yaml.Node) ([]string, error) {
	var names, behind []string
	for _, entry := range entries.Content {
		names = append(names, text(entry, "name"))
		behind = append(behind, text(entry, "replaces"))
		if skips := field(entry, "skips"); skips != nil {
			for _, skipped := range skips.Content {
				behind = append(behind, skipped.Value)
			}
		}
	}
	found := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(behind, name) })
	if len(found) > 1 {
		return nil, fmt.Errorf("it has %d heads (%s), so it is unclear which one to replace: write the entry by hand",
			len(found), strings.Join(found, ", "))
	}
	return found, nil
}

func field(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

func text(node *yaml.Node, name string) string {
	if f := field(node, name); f != nil {
		return f.Value
	}
	return ""
}
