// Package template reads and edits the catalog's template, the file in which people keep the upgrade graph. Edits go
// through the YAML tree, so that comments and order survive.
package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/memcached-operator/hack/project"
)

// TemplateFile is where the template is kept, relative to the root of the checkout.
const TemplateFile = "catalog/" + project.Package + ".template.yaml"

// Template is a parsed template.
type Template struct {
	document yaml.Node
	entries  *yaml.Node
}

// ParseTemplate reads a template.
func ParseTemplate(content []byte) (*Template, error) {
	t := &Template{}
	if err := yaml.Unmarshal(content, &t.document); err != nil {
		return nil, fmt.Errorf("%s: %w", TemplateFile, err)
	}
	if len(t.document.Content) == 1 {
		t.entries = field(t.document.Content[0], "entries")
	}
	if t.entries == nil || t.entries.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s: it has no list called entries", TemplateFile)
	}
	return t, nil
}

// Encode returns the template's content.
func (t *Template) Encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(&t.document), encoder.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", TemplateFile, err)
	}
	return out.Bytes(), nil
}

// Add puts a version at the head of the channels, replacing the head that is there, and its bundle at the end of the
// file. An entry that somebody has prepared in a channel is kept as it is. It is an error if a channel does not
// exist, or the bundle is there already.
func (t *Template) Add(version, bundleImage string, channels []string) error {
	for _, bundle := range t.Bundles() {
		if bundle == bundleImage {
			return fmt.Errorf("%s already has the bundle %s", TemplateFile, bundleImage)
		}
	}
	for _, name := range channels {
		channel := t.channel(name)
		if channel == nil {
			return fmt.Errorf("%s has no channel %q", TemplateFile, name)
		}
		if err := addEntry(channel, version); err != nil {
			return fmt.Errorf("channel %s: %w", name, err)
		}
	}
	t.entries.Content = append(t.entries.Content, mapping("schema", "olm.bundle", "image", bundleImage))
	return nil
}

// Bundles are the bundle images that the template names, in order.
func (t *Template) Bundles() []string {
	var images []string
	for _, entry := range t.entries.Content {
		if text(entry, "schema") == "olm.bundle" {
			images = append(images, text(entry, "image"))
		}
	}
	return images
}

// Rename replaces every bundle image by what the function returns for it.
func (t *Template) Rename(to func(image string) (string, error)) error {
	for _, entry := range t.entries.Content {
		if text(entry, "schema") != "olm.bundle" {
			continue
		}
		image, err := to(text(entry, "image"))
		if err != nil {
			return err
		}
		field(entry, "image").Value = image
	}
	return nil
}

// Channels are the names of the channels, in order.
func (t *Template) Channels() []string {
	var names []string
	for _, entry := range t.entries.Content {
		if text(entry, "schema") == "olm.channel" {
			names = append(names, text(entry, "name"))
		}
	}
	return names
}

func (t *Template) channel(name string) *yaml.Node {
	i := slices.IndexFunc(t.entries.Content, func(e *yaml.Node) bool {
		return text(e, "schema") == "olm.channel" && text(e, "name") == name
	})
	if i < 0 {
		return nil
	}
	return t.entries.Content[i]
}

func addEntry(channel *yaml.Node, version string) error {
	entries := field(channel, "entries")
	if entries == nil || entries.Kind != yaml.SequenceNode {
		return errors.New("it has no list called entries")
	}
	name := project.CSVName(version)
	for _, entry := range entries.Content {
		if text(entry, "name") == name {
			return nil
		}
	}
	heads, err := heads(entries)
	if err != nil {
		return err
	}
	entry := mapping("name", name)
	if len(heads) == 1 {
		entry = mapping("name", name, "replaces", heads[0])
	}
	entries.Style = 0 // An empty list is written [], one with entries as lines.
	entries.Content = append(entries.Content, entry)
	return nil
}

// heads are the entries that no other replaces or skips: one, or none in an empty channel.
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
		return nil, fmt.Errorf("it has %d heads (%s), so it is not clear which one to replace: write the entry by hand",
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

// mapping makes a map of strings, given as names and values in turn.
func mapping(pairs ...string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, value := range pairs {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
	return node
}
