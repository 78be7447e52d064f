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

// Publisher puts images into the registry and remembers from what they were made.
type Publisher struct {
	Registry *Client
	// Records is a folder with one file per image.
	Records string
}

// record is what is remembered of a published image.
type record struct {
	Recipe string `json:"recipe"`
	Digest string `json:"digest"`
}

// Ensure builds and pushes the image unless the registry has it under all its names, and returns its digest.
func (p Publisher) Ensure(ctx context.Context, image Image) (string, error) {
	recipe, err := image.recipe()
	if err != nil {
		return "", fmt.Errorf("image %s: %w", image.Names[0], err)
	}
	file := filepath.Join(p.Records, strings.NewReplacer("/", "_", ":", "_").Replace(image.Names[0])+".json")
	var known record
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &known) == nil && known.Recipe == recipe {
		served, err := p.served(ctx, image.Names, known.Digest)
		if err != nil || served {
			return known.Digest, err
		}
	}
	digest, err := p.publish(ctx, image, file+".layer")
	if err != nil {
		return "", fmt.Errorf("image %s: %w", image.Names[0], err)
	}
	data, err := json.Marshal(record{Recipe: recipe, Digest: digest})
	if err != nil {
		return "", fmt.Errorf("encode the record of %s: %w", image.Names[0], err)
	}
	if err := os.WriteFile(file, data, plain); err != nil {
		return "", fmt.Errorf("remember %s: %w", image.Names[0], err)
	}
	return digest, nil
}

// served tells whether every name leads to the digest.
func (p Publisher) served(ctx context.Context, names []string, digest string) (bool, error) {
	for _, reference := range names {
		have, err := p.Registry.Digest(ctx, reference)
		if err != nil || have != digest {
			return false, err
		}
	}
	return true, nil
}

// publish builds the image and pushes it under all its names.
func (p Publisher) publish(ctx context.Context, image Image, scratch string) (string, error) {
	defer os.Remove(scratch)
	built, err := image.build(scratch)
	if err != nil {
		return "", err
	}
	for _, reference := range image.Names {
		if err := p.Registry.Push(ctx, reference, built); err != nil {
			return "", err
		}
	}
	digest, err := built.Digest()
	if err != nil {
		return "", fmt.Errorf("read the digest: %w", err)
	}
	return digest.String(), nil
}

// recipe hashes what the image is made of; a file of this machine counts by its name, size and time, for speed.
func (i Image) recipe() (string, error) {
	hash := sha256.New()
	config, err := json.Marshal([]any{i.Names, i.User, i.Path, i.Entrypoint, i.Command, i.StopSignal, i.Labels})
	if err != nil {
		return "", fmt.Errorf("describe the image: %w", err)
	}
	hash.Write(config)
	inputs := slices.Clone(i.Inputs)
	for _, file := range i.Files {
		fmt.Fprintf(hash, "%q %q %q %o\n", file.Path, file.Data, file.Link, file.Mode)
		if file.Source != "" {
			inputs = append(inputs, file.Source)
		}
	}
	for _, input := range inputs {
		info, err := os.Stat(input)
		if err != nil {
			return "", fmt.Errorf("look at a file of the image: %w", err)
		}
		fmt.Fprintf(hash, "%q %d %d\n", input, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
