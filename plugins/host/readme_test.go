package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/verify"
	"github.com/callnode/scheduler/test/slow"
)

// The manifest and the program of the README are a plugin that works.
func TestReadme(t *testing.T) {
	slow.Test(t)
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]byte{}
	for _, m := range regexp.MustCompile("(?ms)^```(go|yaml)\n(.*?)^```").FindAllSubmatch(text, -1) {
		blocks[string(m[1])] = m[2]
	}
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"main.go": blocks["go"], manifest.FileName: blocks["yaml"], "go.sum": sums,
		"go.mod": fmt.Appendf(nil, "module mine\n\ngo 1.26\n\nrequire github.com/callnode/scheduler v0.0.0\n\nreplace github.com/callnode/scheduler => %s\n", module),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-mod=mod", "-o", "mine", ".")
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	h, _ := open(t, dir, host.Options{})
	for _, r := range verify.Run(t.Context(), h, h.Names()[0]) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Check, r.Err)
		}
	}
}
