package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// linksLead checks that every relative link in a page leads to a file of the checkout and, with a fragment, to a heading of it.
// Pages are the Markdown files that git knows, except test data.
func linksLead(ctx context.Context) error {
	out, err := output(ctx, ".", "git", "ls-files", "*.md")
	if err != nil {
		return err
	}
	var findings []error
	for _, name := range strings.Fields(out) {
		if slices.Contains(strings.Split(name, "/"), "testdata") {
			continue
		}
		page, err := readPage(name)
		if err != nil {
			return err
		}
		for _, link := range page.links {
			if err := leads(name, link); err != nil {
				findings = append(findings, fmt.Errorf("%s: the link to %s: %w", name, link, err))
			}
		}
	}
	return errors.Join(findings...)
}

// leads fails if a link of a page leads nowhere. Links to other sites are not followed.
func leads(name, link string) error {
	target, err := url.Parse(link)
	if err != nil {
		return err
	}
	if target.IsAbs() {
		return nil
	}
	file := name
	if target.Path != "" {
		file = filepath.Join(filepath.Dir(name), target.Path)
	}
	if _, err := os.Stat(file); err != nil || target.Fragment == "" {
		return err
	}
	page, err := readPage(file)
	if err != nil {
		return err
	}
	if !slices.Contains(page.headings, target.Fragment) {
		return fmt.Errorf("%s has no such heading", file)
	}
	return nil
}

// page is what the check needs of a Markdown file.
type page struct {
	links    []string // The destinations of links and images.
	headings []string // The IDs of the headings, for example "what-is-tested".
}

func readPage(name string) (page, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return page{}, err
	}
	var read page
	document := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID())).Parser().Parse(text.NewReader(source))
	err = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Link:
			read.links = append(read.links, string(node.Destination))
		case *ast.Image:
			read.links = append(read.links, string(node.Destination))
		case *ast.Heading:
			if id, found := node.AttributeString("id"); found {
				read.headings = append(read.headings, string(id.([]byte)))
			}
		}
		return ast.WalkContinue, nil
	})
	return read, err
}
