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

// Template is a parsed template. It keeps comments and the order of fields.
type Template struct {
	document yaml.Node
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
	t := &Template{}
	var fields any // Unlike a node, it refuses a key that is there twice.
	if err := errors.Join(yaml.Unmarshal(content, &t.document), yaml.Unmarshal(content, &fields)); err != nil {
		return nil, fmt.Errorf("%s: %w", TemplateFile, err)
	}
	if len(t.document.Content) == 1 {
		t.entries = field(t.document.Content[0], "entries")
	}
	if t.entries == nil || t.entries.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s has no list called entries", TemplateFile)
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

// Add adds a version to the channels, as the entry that replaces their head and that all older releases can be upgraded to,
// and its bundle at the end of the file. It does not change an entry that people have prepared. It is an error if a channel does not exist, or if the template
// already has the bundle.
func (t *Template) Add(version, bundleImage string, channels []string) error {
	if slices.Contains(t.Bundles(), bundleImage) {
		return fmt.Errorf("%s already has the bundle %s", TemplateFile, bundleImage)
	}
	for _, name := range channels {
		i := slices.IndexFunc(t.bySchema("olm.channel"), func(e *yaml.Node) bool { return text(e, "name") == name })
		if i < 0 {
			return fmt.Errorf("%s has no channel %q", TemplateFile, name)
		}
		if err := addEntry(t.bySchema("olm.channel")[i], version); err != nil {
			return fmt.Errorf("channel %s: %w", name, err)
		}
	}
	t.entries.Content = append(t.entries.Content, mapping("schema", "olm.bundle", "image", bundleImage))
	return nil
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
	for _, entry := range t.bySchema("olm.bundle") {
		image, err := to(text(entry, "image"))
		if err != nil {
			return err
		}
		field(entry, "image").Value = image
	}
	return nil
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

func addEntry(channel *yaml.Node, version string) error {
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
	entry := mapping("name", name)
	if len(heads) == 1 {
		entry = mapping("name", name, "replaces", heads[0], "skipRange", project.SkipRange(version))
	}
	entries.Style = 0 // An empty list was written as [].
	entries.Content = append(entries.Content, entry)
	return nil
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

// mapping returns a map of the given names and values.
func mapping(pairs ...string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, value := range pairs {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
	return node
}
