package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// record is the file that says from what a published image was built.
type record struct {
	Recipe string `json:"recipe"`
	Digest string `json:"digest"`
}

// Ensure builds and pushes the image, unless the registry serves it under all of its names, and returns its digest.
func (c *Client) Ensure(ctx context.Context, image Image) (digest string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("image %s: %w", image.Names[0], err)
		}
	}()
	recipe, err := image.recipe()
	if err != nil {
		return "", err
	}
	file := filepath.Join(c.records, strings.NewReplacer("/", "_", ":", "_").Replace(image.Names[0])+".json")
	var known record
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &known) == nil && known.Recipe == recipe {
		served, err := c.serves(ctx, image.Names, known.Digest)
		if err != nil || served {
			return known.Digest, err
		}
	}
	if digest, err = c.publish(ctx, image, file+".layer"); err != nil {
		return "", err
	}
	data, err := json.Marshal(record{Recipe: recipe, Digest: digest})
	if err != nil {
		return "", err
	}
	return digest, os.WriteFile(file, data, plain)
}

// serves reports whether the registry serves the digest under every name.
func (c *Client) serves(ctx context.Context, names []string, digest string) (bool, error) {
	for _, reference := range names {
		have, err := c.digest(ctx, reference)
		if err != nil || have != digest {
			return false, err
		}
	}
	return true, nil
}

// publish builds the image and pushes it under all of its names.
func (c *Client) publish(ctx context.Context, image Image, scratch string) (string, error) {
	defer os.Remove(scratch)
	built, err := image.build(scratch)
	if err != nil {
		return "", err
	}
	for _, reference := range image.Names {
		if err := c.push(ctx, reference, built); err != nil {
			return "", err
		}
	}
	digest, err := built.Digest()
	return digest.String(), err
}

// recipe hashes the inputs of the image. A file of this machine counts by its name, size and time, for speed.
func (i Image) recipe() (string, error) {
	hash := sha256.New()
	config, err := json.Marshal([]any{i.Names, i.User, i.Path, i.Entrypoint, i.Command, i.StopSignal, i.Labels})
	if err != nil {
		return "", err
	}
	hash.Write(config)
	inputs := slices.Clone(i.Packages)
	for _, file := range i.Files {
		fmt.Fprintf(hash, "%q %q %q %o\n", file.Path, file.Data, file.Link, file.Mode)
		if file.Source != "" {
			inputs = append(inputs, file.Source)
		}
	}
	for _, input := range inputs {
		info, err := os.Stat(input)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%q %d %d\n", input, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
