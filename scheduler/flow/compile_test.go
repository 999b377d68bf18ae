package flow

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// writeFiles makes files in a new directory.
func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadGood(t *testing.T) {
	flow, problems := fakeLoader(t).Load("testdata/lint/good.yaml")
	if flow == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	if flow.Name != "weather" || flow.Language != "zh" || !slices.Equal(flow.LLM, []string{"local"}) || flow.MaxTokens != 1000 || !slices.Equal(flow.Plugins, []string{"tools"}) {
		t.Errorf("got %+v", flow)
	}
	recall, _ := flow.Step("recall")
	if _, ok := flow.Step("nobody"); ok {
		t.Error("there is no such step")
	}
	want := Retry{MaxAttempts: 3, InitialInterval: 500 * time.Millisecond, Multiplier: 2, MaxInterval: 10 * time.Second}
	if recall.Retry != want || recall.Timeout != 30*time.Second || recall.Implicit || len(recall.Needs) != 0 {
		t.Errorf("got %+v", recall)
	}
	if !slices.Equal(recall.Resolve, []string{"clock", "weather"}) {
		t.Errorf("resolve %v", recall.Resolve)
	}
	args, answer := flow.Steps[0], flow.Steps[3]
	if args.Retry.MaxAttempts != 2 || args.OnMissing != "fail" || answer.OnMissing != "ask" || !answer.Continue || !answer.ToUser {
		t.Errorf("got %+v and %+v", args, answer)
	}
	if each := flow.Steps[4]; each.MaxParallel != 4 || each.ForEach == nil || !slices.Equal(each.Needs, []int{3}) || !slices.Equal(answer.Next, []int{4}) {
		t.Errorf("got %+v", each)
	}
	if got := flow.Ancestors(answer.Index); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("ancestors %v", got)
	}
	if args.Pos != (Position{"testdata/lint/good.yaml", 15, 5}) {
		t.Errorf("position %v", args.Pos)
	}
	if files := slices.Sorted(maps.Keys(flow.Files)); !slices.Equal(files, []string{"testdata/lint/data.jsonc", "testdata/lint/sub/text.md"}) {
		t.Errorf("files %v", files)
	}
}

func TestRender(t *testing.T) {
	flow, problems := fakeLoader(t).Load("testdata/lint/good.yaml")
	if flow == nil {
		t.Fatal(problems)
	}
	scope := prompt.Values{Map: value.Pairs(
		"each", []value.Value{keySchema("text", "one")},
		"answer", keySchema("text", "yes"),
		"item", "x", "index", 3,
	)}
	render := func(p *Param) string {
		v, err := p.Render(context.Background(), scope)
		if err != nil {
			t.Fatal(err)
		}
		return v.JSON()
	}
	if got, want := render(flow.Steps[5].With), `{"template":"{{ left alone","values":{"a":"one","b":"","raw":"{{ raw }}","data":{"a":[1,2]},"text":"Some {{ text }}.\n"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := render(flow.Steps[4].With), `{"user":"x 3","temperature":0.5,"stop":["x"]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := render(nil); got != "null" {
		t.Errorf("got %s", got)
	}
	_, err := flow.Steps[2].With.Render(context.Background(), scope)
	var at *prompt.Error
	if !errors.As(err, &at) || at.File != "testdata/lint/good.yaml" || at.Line != 30 {
		t.Errorf("got %v", err)
	}
}

func TestDefaults(t *testing.T) {
	flow, problems := fakeLoader(t).Parse("dir/some.flow.yaml", []byte("steps:\n  - {id: a, call: chat}\n  - {id: b, call: chat, retry: {}}\n  - {id: c, call: chat, retry: {initial_interval: 1m}}\n"))
	if flow == nil {
		t.Fatal(problems)
	}
	if flow.Name != "some.flow" || flow.Outputs != nil || flow.OnError != nil || flow.User != nil {
		t.Errorf("got %+v", flow)
	}
	if flow.Inputs.Check(value.Must(map[string]any{"anything": 1})) != nil {
		t.Error("a flow without inputs takes any")
	}
	if got := flow.Steps[0].Retry; got != (Retry{MaxAttempts: 1}) {
		t.Errorf("got %+v", got)
	}
	if got := flow.Steps[1].Retry; got != usualRetry {
		t.Errorf("got %+v", got)
	}
	if got := flow.Steps[2].Retry; got.MaxInterval != time.Minute {
		t.Errorf("got %+v", got)
	}
}

func TestFiles(t *testing.T) {
	step := func(path string) string {
		return "steps: [{id: a, call: template, with: {template: x, values: {v: !file " + path + "}}}]"
	}
	dir := writeFiles(t, map[string]string{
		"flows/json.yaml": step("data/a.json"), "flows/data/a.json": `{"b": 1.50, "a": "é"}`,
		"flows/yaml.yaml": step("data/a.yml"), "flows/data/a.yml": "b: [1, ~]",
		"flows/text.yaml": step("data/a.txt"), "flows/data/a.txt": "\uFEFFtext {{ x }}",
		"flows/up.yaml": step("../common.json"), "common.json": `[1]`,
		"flows/link.yaml": step("link.json"), "secret.json": `["secret"]`,
		"flows/binary.yaml": step("data/b.txt"), "flows/data/b.txt": "a\n\xff",
		"flows/folder.yaml": step("data"),
		"flows/broken.yaml": step("data/c.yml"), "flows/data/c.yml": "a: [",
	})
	if err := os.Symlink("../secret.json", filepath.Join(dir, "flows/link.json")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ root, want, problem string }{
		"json.yaml":   {want: `{"b":1.50,"a":"é"}`},
		"yaml.yaml":   {want: `{"b":[1,null]}`},
		"text.yaml":   {want: `"text {{ x }}"`},
		"up.yaml":     {problem: "leads out of"},
		"link.yaml":   {problem: "cannot read link.json: path escapes from parent"},
		"binary.yaml": {problem: "data/b.txt:2:1: the text is not UTF-8 here"},
		"folder.yaml": {problem: "cannot read data: it is not a regular file"},
		"broken.yaml": {problem: "data/c.yml:1"},
		"none.yaml":   {problem: "there is no file"},
	} {
		checkFile(t, fakeLoader(t), filepath.Join(dir, "flows", name), tc.want, tc.problem)
	}
	rooted := fakeLoader(t)
	rooted.Root = dir
	checkFile(t, rooted, filepath.Join(dir, "flows/up.yaml"), `[1]`, "")
	checkFile(t, rooted, filepath.Join(dir, "flows/link.yaml"), `["secret"]`, "")
}

func checkFile(t *testing.T, loader *Loader, path, want, problem string) {
	t.Helper()
	flow, problems := loader.Load(path)
	if problem != "" {
		if len(problems) != 1 || !strings.Contains(problems[0].Message, problem) {
			t.Errorf("%s: want a problem %q, got %v", path, problem, problems)
		}
		return
	}
	if flow == nil {
		t.Errorf("%s: %v", path, problems)
		return
	}
	v, _ := flow.Steps[0].With.Literal.At("/values/v")
	if v.JSON() != want {
		t.Errorf("%s: got %s, want %s", path, v.JSON(), want)
	}
}

// A flow needs only the files read before: with the text and the files of a loaded flow it loads again without a
// disk.
func TestLoadFromFiles(t *testing.T) {
	first, problems := fakeLoader(t).Load("graph/testdata/all.yaml")
	if first == nil {
		t.Fatal(problems)
	}
	loader := fakeLoader(t)
	loader.ReadFile = func(path string) ([]byte, error) {
		if content, ok := first.Files[path]; ok {
			return content, nil
		}
		return nil, os.ErrNotExist
	}
	again, problems := loader.Parse(first.File, first.Source)
	if again == nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(first.Canonical().JSON(), again.Canonical().JSON()); diff != "" {
		t.Error(diff)
	}
}

func TestDeepFlows(t *testing.T) {
	files := map[string]string{"end.yaml": "steps: [{id: a, call: chat}]"}
	names := []string{"end.yaml"}
	for i := range 20 {
		name := string(rune('a'+i)) + ".yaml"
		files[name] = "steps: [{id: a, call: flow, with: {path: " + names[i] + "}}]"
		names = append(names, name)
	}
	dir := writeFiles(t, files)
	if flow, problems := fakeLoader(t).Load(filepath.Join(dir, names[10])); flow == nil {
		t.Error(problems)
	}
	_, problems := fakeLoader(t).Load(filepath.Join(dir, names[20]))
	if !strings.Contains(problems.Error(), "flows stand in flows more than 16 deep") {
		t.Error(problems)
	}
}

func TestProblems(t *testing.T) {
	_, problems := fakeLoader(t).Load("testdata/lint/never.yaml")
	if problems.HasErrors() || problems.Err() != nil || len(problems.Warnings()) != len(problems) || len(problems.Errors()) != 0 {
		t.Errorf("warnings are no errors: %v", problems)
	}
	_, problems = fakeLoader(t).Load("testdata/lint/types.yaml")
	if err := problems.Err(); err == nil || len(strings.Split(err.Error(), "\n")) != len(problems) {
		t.Errorf("got %v", err)
	}
	_, problems = (&Loader{}).Parse("f.yaml", []byte("steps: [{id: a, call: chat, enable_filling: true}]"))
	if len(problems) != 2 {
		t.Errorf("without a registry: %v", problems)
	}
}

func TestAnInvalidSchemaIsAProblemWithoutReasons(t *testing.T) {
	u := &unit{decoder: decoder{newFlowText("flow.yaml", []byte("inputs: {}")), &report{}}}
	u.reportSchema("inputs", &yaml.Node{Line: 1, Column: 9}, "", &schema.InvalidError{})
	if !u.problems.HasErrors() {
		t.Error("a schema that cannot be used is not reported")
	}
}
