package importer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
)

func TestEachLeafIsAccountedForOnce(t *testing.T) {
	root, err := yaml.Parse([]byte("a: &x [1, {b: 2}]\nc: *x\nd: {e: {}, f: g}\nh: i\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := importer.NewSource("a.yaml", root)
	member := func(key string) *yaml.Node {
		n, _, ok := yaml.Walk(root, "/"+key)
		if !ok {
			t.Fatal(key)
		}
		return n
	}
	s.Keep(member("a"))
	s.Drop(member("a/1/b"), wording.Same("gone"))
	s.Keep(member("a/1/b")) // a lost leaf stays lost
	s.Change(member("d"), wording.Same("other"))
	s.Keep(member("d")) // a changed leaf stays changed
	s.Keep(nil)
	var r importer.Report
	r.Add(s.Leaves("en"))
	if r.Kept != 1 || r.Changed != 2 || r.NotKept != 2 || len(r.Leaves) != 5 {
		t.Errorf("%+v", r)
	}
	want := []importer.Leaf{
		{"a.yaml", "/a/0", 1, 8, "1", importer.Kept, ""}, {"a.yaml", "/a/1/b", 1, 15, "2", importer.NotKept, "gone"},
		{"a.yaml", "/d/e", 3, 8, "", importer.Changed, "other"}, {"a.yaml", "/d/f", 3, 15, "g", importer.Changed, "other"}, {"a.yaml", "/h", 4, 4, "i", importer.NotKept, "nothing here takes it"},
	}
	for i, l := range r.Leaves {
		if l != want[i] {
			t.Errorf("%+v, not %+v", l, want[i])
		}
	}
}

func TestWriteLeavesChangedFilesAlone(t *testing.T) {
	dir := t.TempDir()
	plan := func(text string) *importer.Plan {
		return &importer.Plan{Files: []importer.File{{Path: "a.yaml", Data: []byte(text)}, {Path: "code/b.js", Data: []byte("b")}}}
	}
	content := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	write := func(text string) []importer.Written {
		t.Helper()
		written, err := importer.Write(plan(text), dir, "x")
		if err != nil {
			t.Fatal(err)
		}
		return written
	}
	if got := write("one"); len(got) != 3 || got[0].IsBeside || content("a.yaml") != "one" || content("code/b.js") != "b" {
		t.Errorf("%+v", got)
	}
	write("two")
	if content("a.yaml") != "two" {
		t.Error("a file that is as it was is not replaced")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := write("three"); !got[0].IsBeside || content("a.yaml") != "mine" || content("a.yaml.new") != "three" {
			t.Errorf("%+v: %s, %s", got, content("a.yaml"), content("a.yaml.new"))
		}
	}
	if _, err := importer.Write(&importer.Plan{Files: []importer.File{{Path: "../out"}}}, dir, "x"); err == nil {
		t.Error("a file is written outside of the folder")
	}
	if err := os.WriteFile(filepath.Join(dir, "x.import.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := importer.Write(plan("four"), dir, "x"); err == nil {
		t.Error("a broken report is overwritten")
	}
}
