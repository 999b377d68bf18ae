package test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// sumsOf writes a checksums.txt with the sums of archives, 1 for the first.
func sumsOf(t *testing.T, archives ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "checksums.txt")
	var b strings.Builder
	for i, name := range archives {
		fmt.Fprintf(&b, "%064d  %s\n", i+1, name)
	}
	writeFile(t, file, []byte(b.String()))
	return file
}

// TestFormula: the formula of Homebrew has each archive of a release with its sum, and is not written if one is missing.
func TestFormula(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script is for a shell")
	}
	archives := []string{"scheduler_0.1.0_darwin_arm64.tar.gz", "scheduler_0.1.0_darwin_amd64.tar.gz", "scheduler_0.1.0_linux_arm64.tar.gz", "scheduler_0.1.0_linux_amd64.tar.gz"}
	formula, err := exec.Command("../.ci/formula", "v0.1.0", sumsOf(t, archives...)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, formula)
	}
	for i, name := range archives {
		want := fmt.Sprintf("url \"https://github.com/callnode/scheduler/releases/download/v0.1.0/%s\"\n      sha256 \"%064d\"\n    end", name, i+1)
		if !strings.Contains(string(formula), want) {
			t.Errorf("%s is not in\n%s", want, formula)
		}
	}
	if output, err := exec.Command("../.ci/formula", "0.1.0", sumsOf(t, archives[:3]...)).CombinedOutput(); err == nil || !strings.Contains(string(output), "does not name scheduler_0.1.0_linux_amd64.tar.gz") {
		t.Errorf("without an archive: %v\n%s", err, output)
	}
}

// added matches the sources of ADD and COPY that are files of the project.
var added = regexp.MustCompile(`(?m)^(?:ADD|COPY)(?: --chown=\S+)? ((?:bin|configs)/\S+) `)

// TestImage: the image copies archives by the name that a release gives them, and its other files exist; Docker
// gets all of them.
func TestImage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	release := strings.NewReplacer("{{ .ProjectName }}", "scheduler", "{{ .Version }}", "0.1.0", "{{ .Os }}", "linux", "{{ .Arch }}", "amd64")
	template := regexp.MustCompile(`name_template: "(.*)"`).FindStringSubmatch(read(".goreleaser.yaml"))
	archive := "bin/dist/" + release.Replace(template[1]) + ".tar.gz"
	sources := added.FindAllStringSubmatch(read("Dockerfile"), -1)
	if len(sources) != 2 {
		t.Fatalf("the image adds %v", sources)
	}
	for _, m := range sources {
		source := strings.ReplaceAll(m[1], "${TARGETARCH}", "amd64")
		isArchive, _ := path.Match(source, archive)
		if _, err := os.Stat(filepath.Join(root, source)); err != nil && !isArchive {
			t.Errorf("there is no %s, and the archive is %s", source, archive)
		}
		isSent := false
		for line := range strings.Lines(read(".dockerignore")) {
			pattern, isException := strings.CutPrefix(strings.TrimSpace(line), "!")
			fits, _ := path.Match(pattern, source)
			isSent = isSent || isException && (fits || isArchive && strings.HasPrefix(pattern, "bin/dist/scheduler_"))
		}
		if !isSent {
			t.Errorf(".dockerignore keeps %s from Docker", source)
		}
	}
}
