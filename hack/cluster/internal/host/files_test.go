package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWriteFileKeepsAFileWithTheSameContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "file")
	write := func(content string) os.FileInfo {
		t.Helper()
		if err := WriteFile(path, []byte(content), Private); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := write("a")
	if first.Mode().Perm() != Private {
		t.Errorf("mode is %v", first.Mode())
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if !write("a").ModTime().Equal(past.Truncate(time.Nanosecond)) {
		t.Error("the same content was written again")
	}
	write("b")
	if content, err := os.ReadFile(path); err != nil || string(content) != "b" {
		t.Errorf("content is %q, %v", content, err)
	}
}
