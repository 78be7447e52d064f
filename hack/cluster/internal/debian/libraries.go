package debian

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// tree is the unpacked content of packages: regular files, and the targets of symbolic links, by path. Paths are those of
// merged /usr: /bin, /sbin, /lib and /lib64 are folders of /usr.
type tree struct {
	files map[string][]byte
	links map[string]string
}

// ProgramFiles returns what a program needs to run, from its package and those of its libraries: content by path. Paths are
// those of merged /usr.
func ProgramFiles(packages []string, program string) (map[string][]byte, error) {
	content, err := unpack(packages)
	if err != nil {
		return nil, err
	}
	need, err := content.closure(program)
	if err != nil {
		return nil, fmt.Errorf("collect the files of %s: %w", program, err)
	}
	return need, nil
}

// unpack reads the files of packages.
func unpack(packages []string) (tree, error) {
	t := tree{files: map[string][]byte{}, links: map[string]string{}}
	for _, file := range packages {
		content, err := process.Run(exec.Command("dpkg-deb", "--fsys-tarfile", file))
		if err == nil {
			err = t.add(tar.NewReader(strings.NewReader(content)))
		}
		if err != nil {
			return tree{}, fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
	}
	return t, nil
}

func (t tree) add(archive *tar.Reader) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := merged(header.Name)
		switch header.Typeflag {
		case tar.TypeReg:
			content, err := io.ReadAll(archive)
			if err != nil {
				return err
			}
			t.files[name] = content
		case tar.TypeSymlink:
			target := header.Linkname
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(name), target)
			}
			t.links[name] = merged(target)
		}
	}
}

// merged returns the path of a file in merged /usr.
func merged(name string) string {
	name = path.Join("/", name)
	for _, folder := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if strings.HasPrefix(name, folder+"/") {
			return "/usr" + name
		}
	}
	return name
}

// resolve follows symbolic links to a regular file.
func (t tree) resolve(name string) (string, bool) {
	const most = 10
	for range most {
		if _, ok := t.files[name]; ok {
			return name, true
		}
		next, ok := t.links[name]
		if !ok {
			return "", false
		}
		name = next
	}
	return "", false
}

// closure returns the program, its loader and its libraries: content by path. The path of a library ends with the name that
// the loader asks for.
func (t tree) closure(program string) (map[string][]byte, error) {
	need := map[string][]byte{}
	for pending := []string{program}; len(pending) > 0; {
		name := pending[0]
		pending = pending[1:]
		if _, have := need[name]; have {
			continue
		}
		real, ok := t.resolve(name)
		if !ok {
			return nil, fmt.Errorf("%s is in none of the packages", name)
		}
		need[name] = t.files[real]
		interpreter, libraries, err := needs(need[name])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if interpreter != "" {
			pending = append(pending, merged(interpreter))
		}
		for _, library := range libraries {
			found, err := t.library(library)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			pending = append(pending, found)
		}
	}
	return need, nil
}

// library finds a shared library by its name in the folders that the loader searches: /usr/lib and /usr/lib/<triplet>.
func (t tree) library(soname string) (string, error) {
	names := slices.Concat(slices.Collect(maps.Keys(t.files)), slices.Collect(maps.Keys(t.links)))
	slices.Sort(names)
	for _, name := range names {
		if path.Base(name) != soname || !strings.HasPrefix(name, "/usr/lib") || strings.Count(name, "/") > strings.Count("/usr/lib/triplet/name", "/") {
			continue
		}
		if _, ok := t.resolve(name); ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("needs %s, which is in none of the packages", soname)
}

// needs reads the names of the loader and the libraries from an ELF file.
func needs(content []byte) (interpreter string, libraries []string, err error) {
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			name, err := io.ReadAll(segment.Open())
			if err != nil {
				return "", nil, err
			}
			interpreter = strings.TrimRight(string(name), "\x00")
		}
	}
	libraries, err = file.ImportedLibraries()
	return interpreter, libraries, err
}
