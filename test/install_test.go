package test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInstallScript installs from a release in a folder: the programs are there and the version is printed; an archive
// that was changed installs nothing.
func TestInstallScript(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is needed", tool)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("the script is for a shell")
	}
	release := t.TempDir()
	archive := fmt.Sprintf("scheduler_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	content := archiveOf(t, map[string]string{
		"scheduler": "#!/bin/sh\necho scheduler 0.1.0\n", "scheduler-temporal": "#!/bin/sh\n", "README.md": "read me",
	})
	writeFile(t, filepath.Join(release, archive), content)
	writeFile(t, filepath.Join(release, "checksums.txt"), fmt.Appendf(nil, "%x  other.tar.gz\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(content), archive))

	bin := filepath.Join(t.TempDir(), "programs")
	install := func() (string, error) {
		command := exec.Command("sh", "../install.sh")
		command.Env = append(os.Environ(), "VERSION=v0.1.0", "BIN="+bin, "BASE_URL=file://"+release)
		output, err := command.CombinedOutput()
		return string(output), err
	}
	for range 2 { // the second time over the first
		output, err := install()
		if err != nil || !strings.Contains(output, "installed scheduler 0.1.0 in "+bin) || !strings.Contains(output, "export PATH=") {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	if info, err := os.Stat(filepath.Join(bin, "scheduler-temporal")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("scheduler-temporal: %v %v", info, err)
	}

	bin = filepath.Join(t.TempDir(), "programs")
	writeFile(t, filepath.Join(release, archive), append(content, 0))
	output, err := install()
	if err == nil || !strings.Contains(output, "nothing is installed") {
		t.Errorf("an archive that was changed: %v\n%s", err, output)
	}
	if _, err := os.Stat(bin); err == nil {
		t.Error("an archive that was changed was installed")
	}
}

func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	packed := tar.NewWriter(zipped)
	for name, text := range files {
		if err := packed.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
