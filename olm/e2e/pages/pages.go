// Package pages reads the commands and manifests in pages, so that tests use them as they stand there.
package pages

import (
	"bytes"
	"fmt"
	"os"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Code is a piece of code in a page.
type Code struct {
	// Text has the lines of a block, or what is between backquotes.
	Text string
	// Inline tells that it is within the text.
	Inline bool
}

// Section returns the code below a heading of the page in a file, in order, up to the next heading. The heading is named as links name it,
// for example "with-openssl". It is an error if there is no such heading.
func Section(file, heading string) ([]Code, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	document := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID())).Parser().Parse(text.NewReader(source))
	var found []Code
	inside, there := false, false
	err = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if title, ok := node.(*ast.Heading); ok {
			inside = named(title, heading)
			there = there || inside
		} else if code, ok := codeOf(node, source); ok && inside {
			found = append(found, code)
		}
		return ast.WalkContinue, nil
	})
	if err == nil && !there {
		err = fmt.Errorf("%s has no heading %s", file, heading)
	}
	return found, err
}

func named(heading *ast.Heading, name string) bool {
	id, found := heading.AttributeString("id")
	raw, ok := id.([]byte)
	return found && ok && string(raw) == name
}

// codeOf returns the code that a node is.
func codeOf(node ast.Node, source []byte) (Code, bool) {
	switch node := node.(type) {
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		var lines bytes.Buffer
		for i := range node.Lines().Len() {
			line := node.Lines().At(i)
			lines.Write(line.Value(source))
		}
		return Code{Text: lines.String()}, true
	case *ast.CodeSpan:
		var words bytes.Buffer
		for child := node.FirstChild(); child != nil; child = child.NextSibling() {
			if part, ok := child.(*ast.Text); ok {
				words.Write(part.Segment.Value(source))
			}
		}
		return Code{Text: words.String(), Inline: true}, true
	}
	return Code{}, false
}
