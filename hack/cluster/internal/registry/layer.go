// Package images builds the images that the cluster needs from scratch, in this process, and puts them into the local
// registry. The same inputs give the same digest on every machine: owners, times and order are fixed.
package registry

import (
	"archive/tar"
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// File is one entry of an image's file system. Exactly one of Source, Data and Link is set, or none for a folder.
type File struct {
	// Path is absolute, within the image.
	Path string
	// Source is a file on this machine.
	Source string
	// Data is the content itself.
	Data string
	// Link is what a symbolic link points to.
	Link string
	// Mode holds the permission bits; 0 stands for 0755.
	Mode int64
}

const (
	executable = 0o755
	plain      = 0o644
	sticky     = 0o1777
)

// writeRootfs writes the files as a tar archive, with the folders that they need.
func writeRootfs(out io.Writer, files []File) error {
	archive := tar.NewWriter(out)
	for _, file := range withFolders(files) {
		if err := writeFile(archive, file); err != nil {
			return fmt.Errorf("add %s: %w", file.Path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}

// withFolders adds every missing parent folder and sorts by path.
func withFolders(files []File) []File {
	all := map[string]File{}
	for _, file := range files {
		for parent := path.Dir(file.Path); parent != "/"; parent = path.Dir(parent) {
			if _, listed := all[parent]; !listed {
				all[parent] = File{Path: parent}
			}
		}
		all[file.Path] = file
	}
	sorted := make([]File, 0, len(all))
	for _, file := range all {
		sorted = append(sorted, file)
	}
	slices.SortFunc(sorted, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return sorted
}

func writeFile(archive *tar.Writer, file File) error {
	header := &tar.Header{Format: tar.FormatPAX, Name: strings.TrimPrefix(file.Path, "/"), Mode: cmp.Or(file.Mode, executable)}
	var content io.Reader
	switch {
	case file.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, file.Link
	case file.Source != "":
		source, err := os.Open(file.Source)
		if err != nil {
			return err
		}
		defer source.Close()
		info, err := source.Stat()
		if err != nil {
			return err
		}
		header.Typeflag, header.Size, content = tar.TypeReg, info.Size(), source
	case file.Data != "":
		header.Typeflag, header.Size, content = tar.TypeReg, int64(len(file.Data)), strings.NewReader(file.Data)
	default:
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
	}
	if err := archive.WriteHeader(header); err != nil || content == nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}
