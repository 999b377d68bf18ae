package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/test/golden"
)

func newLoader(t testing.TB, root string) *Loader {
	t.Helper()
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return &Loader{Flows: &flow.Loader{Registry: registry, Providers: []string{"small", "large"}}, Root: root, Language: "en"}
}

// unpack writes the files of an archive into a folder.
func unpack(t testing.TB, archive *txtar.Archive) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLoad loads the file t.test.yaml of each archive in testdata/load. Its file want has all problems, or without any
// the cases. Run with -update to write them.
func TestLoad(t *testing.T) {
	archives, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives: ", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := unpack(t, archive)
			s, problems := newLoader(t, dir).Load(t.Context(), filepath.Join(dir, "t.test.yaml"))
			got := strings.ReplaceAll(describe(s, problems), dir+string(filepath.Separator), "")
			checkGolden(t, archive, name, filepath.ToSlash(got))
		})
	}
}

func checkGolden(t *testing.T, archive *txtar.Archive, name, got string) {
	t.Helper()
	for i, f := range archive.Files {
		if f.Name != "want" {
			continue
		}
		if golden.Updating() {
			archive.Files[i].Data = []byte(got)
			golden.Write(t, name, string(txtar.Format(archive)))
		} else if got != string(f.Data) {
			t.Errorf("got\n%s\nwant\n%s", got, f.Data)
		}
		return
	}
	t.Error("the archive has no file want")
}

// describe returns the problems, or else the cases.
func describe(s *Suite, problems flow.Problems) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintln(&b, p)
	}
	if s == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "%s: judge %q, limits %d %g %d %v\n", s.File, s.JudgeLLM, s.Limits.Parallel, s.Limits.Cost, s.Limits.Tokens, s.Limits.Time)
	for _, c := range s.Cases {
		describeCase(&b, c)
	}
	return b.String()
}

func describeCase(b *strings.Builder, c *Case) {
	fmt.Fprintf(b, "%s at %d:%d of %s\n", c.ID(), c.Pos.Line, c.Pos.Col, c.FlowFile)
	fmt.Fprintf(b, "  inputs %s, until %q, llm %q %s, now %s, seed %d\n", c.Inputs.JSON(), c.Until, c.LLM, scriptsText(c.Scripts), c.Now.Format("2006-01-02T15:04:05Z07:00"), c.Seed)
	fmt.Fprintf(b, "  repeat %d, rate %g, sure %v, tags %v, skip %q, allow %v, timeout %v, cluster %q, %d checks\n", c.Repeat, c.Rate, c.Sure, c.Tags, c.Skip, c.Allow, c.Timeout, c.Cluster, len(c.Expect))
	for _, m := range c.Mocks {
		fmt.Fprintf(b, "  mock %s%s list %v at %d:%d\n", m.Step, m.Call, m.IsList, m.Pos.Line, m.Pos.Col)
		for _, r := range m.Replies {
			fmt.Fprintf(b, "    %s error %v delay %v on %v\n", r.Value.JSON(), r.Error, r.Delay, r.PassesOn)
		}
	}
	for _, ended := range c.State {
		fmt.Fprintf(b, "  ended %s at %d:%d, skipped %v %q, %s of %s\n", ended.Step, ended.Pos.Line, ended.Pos.Col, ended.IsSkipped, ended.Reason, ended.Output.JSON(), ended.Input.JSON())
	}
	for _, a := range c.Answers {
		fmt.Fprintf(b, "  answer %q %s %s\n", a.Step, a.Pointer, a.Value.JSON())
	}
	for _, m := range c.Memory {
		fmt.Fprintf(b, "  memory %q (%s) of %s in %s at %s, %s\n", m.Content, c.MemoryNames[m.ID], m.Context.UserID, m.Context.SessionID, m.Timestamp.Format("15:04:05"), m.Role())
	}
	for _, s := range c.Flow.Steps {
		if s.With != nil && len(c.Variant) > 0 {
			fmt.Fprintf(b, "  with %s %s\n", s.ID, s.With.Canonical().JSON())
		}
	}
}

// The problems of a flow are in the language of the test file's problems, unless the flow names one.
func TestLanguageOfProblems(t *testing.T) {
	const steps = "name: t\nsteps: [{id: a, call: template, with: {template: hi, tempalte: ho}}]\n"
	for source, want := range map[string]string{
		steps: "没有参数 \"tempalte\"（", "language: en\n" + steps: "template has no parameter \"tempalte\" (", "language: zh\n" + steps: "没有参数 \"tempalte\"（",
	} {
		dir := unpack(t, &txtar.Archive{Files: []txtar.File{{Name: "t.yaml", Data: []byte(source)}}})
		l := newLoader(t, dir)
		l.Language, l.Flows.Languages = "zh", &flow.Languages{Default: "en"}
		_, problems := l.Parse(t.Context(), filepath.Join(dir, "t.test.yaml"), []byte("cases: [{name: a}]"))
		if got := problems.Error(); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

// TestQuickstart loads a test of the flow of the README without a problem, from another folder.
func TestQuickstart(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	l := newLoader(t, root)
	s, problems := l.Parse(t.Context(), filepath.Join(root, "flows", "quickstart.test.yaml"), []byte("cases: [{name: a, until: answer, expect: [{prompt: answer, tokens: {max: 2000}}]}]"))
	if s == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.File != "flows/quickstart.test.yaml" || s.Cases[0].FlowFile != "flows/quickstart.yaml" || s.Cases[0].Expect[0].Pos.File != s.File {
		t.Errorf("the files are %s, %s and %s", s.File, s.Cases[0].FlowFile, s.Cases[0].Expect[0].Pos.File)
	}
}

// TestEditorSchema: the schema for editors allows everything that the reader allows, and refuses a misspelt key
// and a misspelt matcher.
func TestEditorSchema(t *testing.T) {
	s, err := schema.Parse(EditorSchema())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../flows/*.test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files: ", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := yaml.ParseValue(text)
		if err != nil {
			t.Fatal(err)
		}
		if problems := s.Check(doc); problems != nil {
			t.Errorf("%s: %v", file, problems)
		}
	}
	for _, wrong := range []string{
		"cases: [{name: a, input: {}}]", "cases: [{name: a, expect: [{output: reply, contans: x}]}]", "defaults: {expect: [{outptu: x}]}\ncases: [{name: a}]", "case: []",
	} {
		doc, err := yaml.ParseValue([]byte(wrong))
		if err != nil {
			t.Fatal(err)
		}
		if s.Check(doc) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}

// TestFilesOutsideOfTheProject: no path of a test file leads out of the project, links followed; out of the folder of the
// test file it may.
func TestFilesOutsideOfTheProject(t *testing.T) {
	const head = "flow: ../a.yaml\n"
	const inside = "cases: [{name: one, inputs: {}, expect: [{run: finished}]"
	texts := map[string]string{
		"dataset": head + "dataset: {file: %s}\n" + inside + "}]\n",
		"memory":  head + inside + ", memory: %s}]\n",
		"state":   head + inside + ", state: %s}]\n",
		"file":    head + "cases: [{name: one, inputs: {who: !file %s}, expect: [{run: finished}]}]\n",
		"check":   head + "cases: [{name: one, expect: [{output: reply, equals: !file %s}]}]\n",
	}
	content := map[string]string{
		"dataset": "{\"who\": \"x\"}\n", "memory": "{\"content\": \"x\"}\n",
		"state": `{"seq":1,"time":"2026-01-01T00:00:00Z","run":"r","type":"flow.started","data":{"flow":"a","inputs":{}}}` + "\n",
		"file":  "x", "check": "x",
	}
	for name, data := range content {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			root := filepath.Join(top, "project")
			write := func(file, text string) string {
				path := filepath.Join(top, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			write("project/a.yaml", "name: a\ninputs: {type: object, properties: {who: {type: string}}}\nmemory: {user: ann, session: main}\n"+
				"steps: [{id: say, call: template, with: {template: x}}]\noutputs: {reply: \"{{ say.text }}\"}\n")
			outside := write("outside/data.jsonl", data)
			write("project/data.jsonl", data)
			write("project/tests/data.jsonl", data)
			if err := os.Symlink(outside, filepath.Join(root, "tests", "link.jsonl")); err != nil {
				t.Skip("no links here: ", err)
			}
			for file, want := range map[string]string{
				"data.jsonl": "", "../data.jsonl": "", "../../outside/data.jsonl": "outside of the project",
				"link.jsonl": "outside of the project", filepath.ToSlash(outside): "absolute",
			} {
				if isTag := name == "file" || name == "check"; isTag && !filepath.IsLocal(file) {
					want = "out of the folder"
				}
				path := write("project/tests/t.test.yaml", fmt.Sprintf(texts[name], file))
				_, problems := newLoader(t, root).Load(t.Context(), path)
				text := problems.Error()
				switch {
				case want == "" && len(problems) > 0, want != "" && !strings.Contains(text, want):
					t.Errorf("%s: %q, want %q", file, text, want)
				case want != "" && !strings.Contains(text, "t.test.yaml:2:") && !strings.Contains(text, "t.test.yaml:3:"):
					t.Errorf("%s: the problem has no place: %q", file, text)
				}
			}
		})
	}
}

// The flows of a test file are in the project, links followed, wherever the file names them.
func TestFlowsLeadOut(t *testing.T) {
	top := t.TempDir()
	write := func(file, text string) string {
		path := filepath.Join(top, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const source = "name: a\nsteps: [{id: say, call: template, with: {template: x}}]\n"
	root := filepath.Join(top, "project")
	outside := write("outside/a.yaml", source)
	write("project/a.yaml", source)
	write("project/tests/a.yaml", source)
	if err := os.Symlink(outside, filepath.Join(root, "tests", "link.yaml")); err != nil {
		t.Skip("no links here: ", err)
	}
	for flow, want := range map[string]string{
		"a.yaml": "", "../a.yaml": "", "../../outside/a.yaml": "it is outside of the project", "../../outside/none.yaml": "it is outside of the project",
		"link.yaml": "it is outside of the project", filepath.ToSlash(outside): "its path is absolute",
	} {
		for place, key := range map[string]string{"1:7": "flow: %s\n", "1:9": "flows: [%s]\n", "1:17": "matrix: {flow: [%s]}\n"} {
			path := write("project/tests/t.test.yaml", fmt.Sprintf(key, flow)+"cases: [{name: a, expect: [{run: finished}]}]\n")
			_, problems := newLoader(t, root).Load(t.Context(), path)
			text := problems.Error()
			if want == "" && len(problems) > 0 || want != "" && !strings.Contains(text, want) {
				t.Errorf("%s%s: %q, want %q", key, flow, text, want)
			}
			if want != "" && !strings.Contains(text, "t.test.yaml:"+place) {
				t.Errorf("%s%s: %q, want the place %s", key, flow, text, place)
			}
		}
	}
}

// scriptsText returns the scripts of a case as JSON: null without any, a list as it is.
func scriptsText(scripts []Script) string {
	if len(scripts) == 0 {
		return "null"
	}
	var texts []string
	for _, s := range scripts {
		texts = append(texts, strings.TrimPrefix(s.Step+": "+s.Answers.JSON(), ": "))
	}
	return strings.Join(texts, ", ")
}

// A flow is read for each variant of a matrix: reading ends with its context, and says so.
func TestLoadInterrupted(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`-- f.yaml --
steps: [{id: a, call: chat, with: {user: x}}]
-- t.test.yaml --
flow: f.yaml
matrix: {with.a.user: [a, b], with.a.system: [c, d]}
cases: [{name: x, expect: [{prompt: a, contains: a}]}]
`)))
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(dir, "t.test.yaml")
	if s, problems := newLoader(t, dir).Load(ctx, path); s == nil || len(s.Cases) != 4 {
		t.Fatalf("got %v", problems)
	}
	cancel()
	s, problems := newLoader(t, dir).Load(ctx, path)
	if want := path + ":3:8: the file was not read to its end: it was interrupted"; s != nil || problems.Error() != want {
		t.Errorf("got %v, want %s", problems, want)
	}
}
