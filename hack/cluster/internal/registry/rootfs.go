package registry

import (
	"archive/tar"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// File is one entry of an image's file system. At most one of Source, Data and Link is set, and none for a folder.
type File struct {
	// Path is the absolute path in the image.
	Path string
	// Source is a file on this machine.
	Source string
	// Data is the content.
	Data string
	// Link is the target of a symbolic link.
	Link string
	// Mode is the permissions. Default: 0755.
	Mode int64
}

const (
	executable = 0o755
	plain      = 0o644
	sticky     = 0o1777
)

// writeRootfs writes the files, and their parent folders, as a tar archive.
func writeRootfs(out io.Writer, files []File) error {
	archive := tar.NewWriter(out)
	for _, file := range withFolders(files) {
		if err := writeFile(archive, file); err != nil {
			return fmt.Errorf("add %s: %w", file.Path, err)
		}
	}
	return archive.Close()
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
	return slices.SortedFunc(maps.Values(all), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
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
