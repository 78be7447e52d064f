package registry

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// find returns the file at a path of the image.
func find(t *testing.T, image Image, path string) File {
	t.Helper()
	i := slices.IndexFunc(image.Files, func(file File) bool { return file.Path == path })
	if i < 0 {
		t.Fatalf("%v has no %s", image.Names, path)
	}
	return image.Files[i]
}

func TestImagesKnowTheUserThatTheyRunAs(t *testing.T) {
	cache, err := MemcachedImage([]string{"memcached_1.6.18-1_amd64.deb"})
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range []Image{cache, NginxImage(nil)} {
		user, group, _ := strings.Cut(image.User, ":")
		if passwd := find(t, image, "/etc/passwd").Data; user == "0" || !strings.Contains(passwd, ":x:"+user+":"+group+":") {
			t.Errorf("%v runs as %s, but knows\n%s", image.Names, image.User, passwd)
		}
		if groups := find(t, image, "/etc/group").Data; !strings.Contains(groups, ":x:"+group+":\n") {
			t.Errorf("%v runs in group %s, but knows\n%s", image.Names, group, groups)
		}
	}
}

// The pods of an Application may have a read-only file system, with a volume at /tmp.
func TestNginxWritesOnlyToTmpAndItsOutput(t *testing.T) {
	configuration := find(t, NginxImage(nil), "/etc/nginx/nginx.conf").Data
	written := regexp.MustCompile(`(?m)^\s*(pid|error_log|access_log|\w+_temp_path) (.*);$`).FindAllStringSubmatch(configuration, -1)
	for _, directive := range written {
		if place := directive[2]; place != "stderr" && place != "/dev/stdout" && !strings.HasPrefix(place, "/tmp/") {
			t.Errorf("%s writes to %s", directive[1], place)
		}
	}
	// pid, two logs, and five folders that nginx would otherwise make where Debian's package has them.
	if len(written) != 8 {
		t.Errorf("%d places are named, want 8: %v", len(written), written)
	}
}

func TestTheNginxImageReplacesTheSamplesImage(t *testing.T) {
	image := NginxImage(nil)
	if !slices.Equal(image.Names, []string{"docker.io/nginxinc/nginx-unprivileged:1.29-alpine"}) || image.StopSignal != "SIGQUIT" {
		t.Errorf("names %v, stopped by %q", image.Names, image.StopSignal)
	}
	if !strings.Contains(find(t, image, "/etc/nginx/nginx.conf").Data, "listen 8080;") {
		t.Error("it does not listen on port 8080, as the original does")
	}
}
