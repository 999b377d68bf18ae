package context_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	callcontext "github.com/callnode/scheduler/calls/context"
	"github.com/callnode/scheduler/llm/value"
)

// vector is a recorded case of the original: files, a method with arguments, and its result.
type vector struct {
	ID           string                     `json:"id"`
	Now          string                     `json:"now"`
	Files        map[string]json.RawMessage `json:"files"`
	BuiltinFiles map[string]json.RawMessage `json:"builtin_files"`
	Bins         []string                   `json:"bins"`
	Env          map[string]string          `json:"env"`
	Call         struct {
		Method string      `json:"method"`
		Args   value.Value `json:"args"`
	} `json:"call"`
	Result value.Value `json:"result"`
	Error  string      `json:"error"`
}

const (
	identityOnly = "{{IDENTITY}}"
	skillsHead   = identityOnly + "\n\n---\n\n# Skills\n\n{{SKILLS_INTRO}}\n\n"
)

func listed(name, description string) string {
	return "<skills>\n  <skill available=\"true\">\n    <name>" + name + "</name>\n    <description>" + description +
		"</description>\n    <location>{{WORKSPACE}}/skills/" + name + "/SKILL.md</location>\n  </skill>\n</skills>"
}

func activated(name, body string) string {
	return identityOnly + "\n\n---\n\n# Active Skills\n\n### Skill: " + name + "\n\n" + body + "\n\n---\n\n" +
		strings.TrimPrefix(skillsHead, identityOnly+"\n\n---\n\n")
}

// departures are the rows on which we decided to differ, with our results.
func departures() map[string]string {
	const thing = "# s\n\nDo the thing."
	return map[string]string{
		// One bad file costs that file and gives a warning, not the whole prompt.
		"boot-invalid-utf8": identityOnly,
		"boot-directory":    identityOnly,
		"mem-invalid-utf8":  identityOnly,
		"skill-file-is-dir": identityOnly,
		// Null in a client's metadata is an empty mapping.
		"skill-requires-null": skillsHead + listed("s", "S"),
		"skill-nanobot-null":  skillsHead + listed("s", "S"),
		// Front matter is YAML: booleans, flow mappings, folded text, comments.
		"skill-always-false-string": skillsHead + listed("core", "Core rules."),
		"skill-metadata-not-json":   activated("s", thing) + listed("s", "S"),
		"skill-desc-folded":         skillsHead + listed("f", "folded text second: line"),
		"skill-comment-lines":       skillsHead + listed("k", "D"),
		// One rule for the fence, with or without a last newline, after a BOM too.
		"skill-frontmatter-no-final-newline": activated("fm", "") + listed("fm", "D"),
		"skill-frontmatter-bom":              activated("fm", "body") + listed("fm", "D"),
		// OpenClaw's workspaces have MEMORY.md at the root.
		"mem-root-memory-ignored": identityOnly + "\n\n---\n\n# Memory\n\n## Long-term Memory\nroot file is not read\n",
		// The name of the file may be written in any case, and skills may be in folders of skills.
		"skill-ignored-entries": skillsHead +
			strings.TrimSuffix(strings.ReplaceAll(listed("inner", "D"), "/skills/inner/", "/skills/deep/inner/"), "</skills>") +
			strings.TrimPrefix(strings.ReplaceAll(listed("lower", "lower"), "SKILL.md", "skill.md"), "<skills>\n"),
	}
}

// messageDepartures are the same for rows that give messages.
func messageDepartures() map[string]string {
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
	return map[string]string{
		// The type of an image is decided by its content.
		"msg-media-noext": `[{"role":"system","content":"{{IDENTITY}}"},{"role":"user","content":[` +
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}},{"type":"text","text":"x"}]}]`,
		// A file that is not an image by its bytes is not sent as one.
		"msg-media-not-an-image": `[{"role":"system","content":"{{IDENTITY}}"},{"role":"user","content":"x"}]`,
		"msg-media-empty-file":   `[{"role":"system","content":"{{IDENTITY}}"},{"role":"user","content":"x"}]`,
	}
}

// notOurs are methods of the original that no flow needs: they write or list
// memory files, or give the loader's inner data.
func notOurs(method string) bool {
	switch method {
	case "memory.get_recent_memories", "memory.append_today", "memory.list_memory_files", "memory.read_today",
		"memory.read_long_term", "memory.write_long_term", "skills.get_skill_metadata", "skills.load_skill", "skills.list_skills":
		return true
	}
	return false
}

func readVectors[T any](t *testing.T, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join("../../test/vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatal("no vectors")
	}
	return rows
}

func TestVectors(t *testing.T) {
	ran, skipped, departed := 0, 0, 0
	own, ownMessages := departures(), messageDepartures()
	for _, row := range readVectors[vector](t, "context.jsonl") {
		if notOurs(row.Call.Method) {
			skipped++
			continue
		}
		ran++
		if want, ok := own[row.ID]; ok {
			row.Result = value.OfString(want)
		}
		if want, ok := ownMessages[row.ID]; ok {
			v, err := value.ParseJSON([]byte(want))
			if err != nil {
				t.Fatal(err)
			}
			row.Result = v
		}
		if _, ok := own[row.ID]; ok || ownMessages[row.ID] != "" {
			departed++
		}
		t.Run(row.ID, func(t *testing.T) { checkVector(t, &row) })
	}
	if departed != len(own)+len(ownMessages) {
		t.Errorf("%d of %d departures are in the vectors", departed, len(own)+len(ownMessages))
	}
	t.Logf("%d rows, of which %d depart; %d rows of methods that are not ours", ran, departed, skipped)
}

func checkVector(t *testing.T, row *vector) {
	for _, form := range []string{"relative", "absolute"} {
		dir := t.TempDir()
		workspace, builtin := "ws", "skills"
		if form == "absolute" {
			workspace, builtin = filepath.Join(dir, workspace), filepath.Join(dir, builtin)
		}
		writeAll(t, filepath.Join(dir, "ws"), row.Files)
		writeAll(t, filepath.Join(dir, "skills"), row.BuiltinFiles)
		bin := filepath.Join(dir, "bin")
		for _, name := range row.Bins {
			write(t, filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755)
		}
		t.Setenv("PATH", bin)
		for name, v := range row.Env {
			t.Setenv(name, v)
		}
		names := strings.NewReplacer("{{WORKSPACE}}", workspace, "{{BUILTIN}}", builtin)
		with := value.Pairs("workspace", workspace, "builtin_skills", builtin, "identity", identityOnly, "skills_intro", "{{SKILLS_INTRO}}")
		for key, v := range arguments(t, row.Call.Method, parse(t, names.Replace(row.Call.Args.JSON())).Map()).All() {
			with.Set(key, v)
		}
		now, err := time.Parse("2006-01-02T15:04:05", row.Now)
		if err != nil {
			t.Fatal(err)
		}
		out := run(t, dir, now, with)
		want := parse(t, names.Replace(row.Result.JSON()))
		if diff := cmp.Diff(pretty(want), pretty(answer(row.Call.Method, out))); diff != "" {
			t.Errorf("%s paths (-want +got):\n%s", form, diff)
		}
		if row.Error != "" && len(out.Warnings) == 0 {
			t.Error("the original failed here, and we gave no warning")
		}
		checkParts(t, out)
	}
}

// arguments turns a method's arguments into parameters.
func arguments(t *testing.T, method string, args *value.Map) *value.Map {
	t.Helper()
	get := func(key string) value.Value { v, _ := args.Get(key); return v }
	switch method {
	case "add_tool_result":
		return value.Pairs("history", get("messages"), "append", []any{value.Pairs("role", "tool",
			"tool_call_id", get("tool_call_id"), "name", get("tool_name"), "content", get("result"))})
	case "add_assistant_message":
		m := value.Pairs("role", "assistant", "content", get("content"))
		if calls, ok := args.Get("tool_calls"); ok {
			m.Set("tool_calls", calls)
		}
		return value.Pairs("history", get("messages"), "append", []any{m})
	}
	return args
}

// answer takes the method's result from the output.
func answer(method string, out *callcontext.Output) value.Value {
	switch method {
	case "build_messages":
		return value.Must(out.Messages)
	case "add_tool_result", "add_assistant_message":
		return value.Must(out.Messages[1:])
	case "skills.get_always_skills":
		names := []string{}
		for _, p := range out.Parts {
			if p.Kind == "skill" {
				names = append(names, p.Name)
			}
		}
		return value.Must(names)
	}
	section := map[string]string{
		"memory.get_memory_context":      "# Memory\n\n",
		"skills.build_skills_summary":    "# Skills\n\n{{SKILLS_INTRO}}\n\n",
		"skills.load_skills_for_context": "# Active Skills\n\n",
	}[method]
	if section == "" {
		return value.OfString(out.System)
	}
	_, rest, _ := strings.Cut(out.System, "\n\n---\n\n"+section)
	rest, _, _ = strings.Cut(rest, "\n\n---\n\n# Skills\n")
	return value.OfString(rest)
}

// run runs the call as a flow does: parameters against the schema, New, Init,
// Exec, output against the schema.
func run(t *testing.T, dir string, now time.Time, with *value.Map, change ...func(*calls.Env)) *callcontext.Output {
	t.Helper()
	out, err := try(t, dir, now, with, change...)
	if err != nil {
		t.Fatalf("%v (%s)", err, calls.HintOf(err))
	}
	return out
}

func try(t testing.TB, dir string, now time.Time, with *value.Map, change ...func(*calls.Env)) (*callcontext.Output, error) {
	t.Helper()
	def := callcontext.Definition()
	if problems := def.Info.Params.Check(value.OfMap(with)); problems != nil {
		t.Fatal(problems)
	}
	call, err := def.New(value.OfMap(with))
	if err != nil {
		t.Fatal(err)
	}
	env := calls.NewEnv()
	env.Dir = dir
	env.Clock = func() time.Time { return now }
	env.Vars = &calls.Vars{Now: now}
	for _, f := range change {
		f(env)
	}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	data, err := callstest.CollectOutput(call.Exec(t.Context(), env, input))
	if err != nil {
		return nil, err
	}
	if problems := def.Info.Output.Check(data); problems != nil {
		t.Fatal(problems)
	}
	var out callcontext.Output
	if err := value.Decode(data, &out); err != nil {
		t.Fatal(err)
	}
	return &out, nil
}

// checkParts holds that the included parts of message 0 are the system text, and
// that every span is right.
func checkParts(t testing.TB, out *callcontext.Output) {
	t.Helper()
	system := ""
	for _, p := range out.Parts {
		switch {
		case !p.Included && (p.Message != nil || p.Reason == "" || p.Text != ""):
			t.Errorf("a part that is left out is wrong: %+v", p)
		case p.Included && (p.Message == nil || p.Reason == "" || p.End-p.Start != len(p.Text)):
			t.Errorf("an included part is wrong: %+v", p)
		case p.Included && *p.Message == 0:
			if p.Start != len(system) {
				t.Errorf("part %s %s begins at %d, want %d", p.Kind, p.Name, p.Start, len(system))
			}
			system += p.Text
		case p.Included:
			text := textOf(out.Messages[*p.Message])
			if p.End > len(text) || text[p.Start:p.End] != p.Text {
				t.Errorf("part %s %s is not in message %d: %q", p.Kind, p.Name, *p.Message, text)
			}
		}
	}
	if system != out.System {
		t.Errorf("the parts do not make the system text (-system +parts):\n%s", cmp.Diff(out.System, system))
	}
}

func textOf(m *value.Map) string {
	content, _ := m.Get("content")
	text, _ := content.Str()
	for _, part := range content.List() {
		s, _ := part.Get("text")
		piece, _ := s.Str()
		text += piece
	}
	return text
}

func writeAll(t testing.TB, dir string, files map[string]json.RawMessage) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, raw := range files {
		var text string
		var data []byte
		if json.Unmarshal(raw, &text) == nil {
			data = []byte(text)
		} else {
			var binary struct{ Base64 string }
			if err := json.Unmarshal(raw, &binary); err != nil {
				t.Fatal(err)
			}
			var err error
			data, err = base64.StdEncoding.DecodeString(binary.Base64)
			if err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(dir, filepath.FromSlash(name)), data, 0o644)
	}
}

func write(t testing.TB, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func pretty(v value.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	return string(v.AppendIndented(nil, " "))
}
