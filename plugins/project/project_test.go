package project_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/plugins/project"
	"github.com/callnode/scheduler/test/slow"
)

func write(t *testing.T, language string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "my-first")
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	next, err := project.Write(dir, project.Options{Name: "my-first", Language: language, Replace: source})
	if err != nil {
		t.Fatal(err)
	}
	if len(next) == 0 {
		t.Error("nothing comes next")
	}
	if _, err := project.Write(dir, project.Options{Name: "my-first", Language: language}); err == nil || !strings.HasSuffix(err.Error(), "is not empty (give another folder)") {
		t.Errorf("writing it again: %v", err)
	}
	return dir
}

func do(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, text)
	}
}

func TestGo(t *testing.T) {
	slow.Test(t)
	dir := write(t, "go")
	do(t, dir, "go", "vet", "./...")
	do(t, dir, "go", "build", "-o", "my-first", ".")
	pluginstest.Run(t, dir)
}

func TestPython(t *testing.T) {
	slow.Test(t)
	dir := write(t, "python")
	pluginstest.Python(t)
	do(t, dir, "python3", "-m", "unittest")
	pluginstest.Run(t, dir)
}

func TestNode(t *testing.T) {
	slow.Test(t)
	dir := pluginstest.Node(t, write(t, "node"))
	do(t, dir, "npm", "test")
	pluginstest.Run(t, dir)
}

func TestWrong(t *testing.T) {
	for _, o := range []project.Options{{Name: "My Plugin", Language: "go"}, {Name: "vars", Language: "node"}, {Name: "x", Language: "cobol"}} {
		if _, err := project.Write(filepath.Join(t.TempDir(), "x"), o); err == nil {
			t.Errorf("%+v was written", o)
		}
	}
}

// A plugin of a release builds with that release; its archives and its tag write the version in two ways.
func TestChooseModuleOfRelease(t *testing.T) {
	t.Chdir(t.TempDir())
	for version, want := range map[string]string{"0.1.0": "v0.1.0", "v1.2.3": "v1.2.3", "0.1.1-snapshot": "", "dev": "", "v0.1.0-3-gabcdef": ""} {
		o := project.Options{Language: "go"}
		if err := o.ChooseModule(version, ""); err != nil || o.Version != want {
			t.Errorf("%s: %q, %v", version, o.Version, err)
		}
	}
}
