package service_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLibraryFiles: a flow has one of the suffixes of flows, whichever form its text has; data beside flows is none.
func TestLibraryFiles(t *testing.T) {
	const block, object = "steps:\n  - {id: a, call: template, with: {template: hi}}\n", `{"steps": [{"id": "a", "call": "template", "with": {"template": "hi"}}]}`
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": block, "b.yml": block, "c.json": object, "d.yaml": object, "sub/e.json": "\uFEFF" + object,
		"broken.json": `{"steps": [{"id": "a", "cal": "template"}]}`, "half.json": `{"steps": [`,
		"a.json":        object, // a.yaml counts
		"picture.json":  `{"steps": 30, "sampler": "euler"}`,
		"list.json":     `[{"steps": []}]`,
		"inside.json":   `{"recipe": {"steps": []}}`,
		"settings.json": `{}`, "c.test.json": object, "text.txt": block,
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	library := newService().NewLibrary([]string{dir})
	flows, err := library.Flows()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range flows {
		rel, _ := filepath.Rel(dir, f.File)
		got = append(got, f.ID+"="+filepath.ToSlash(rel)+map[bool]string{true: "", false: "!"}[f.Flow != nil])
	}
	if want := "a=a.yaml b=b.yml broken=broken.json! c=c.json d=d.yaml half=half.json! sub~e=sub/e.json"; strings.Join(got, " ") != want {
		t.Errorf("flows are %s\nwant %s", strings.Join(got, " "), want)
	}
	for _, name := range []string{"sub~e", "sub/e", "sub/e.json"} {
		if one, err := library.Flow(name); err != nil || one.ID != "sub~e" {
			t.Errorf("%s: %v, %v", name, one, err)
		}
	}
	if err := library.Create("picture", block); err != nil {
		t.Errorf("a flow beside data of its name: %v", err)
	}
	if err := library.Create("c", block); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second flow c: %v", err)
	}
}
