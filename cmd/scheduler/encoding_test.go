package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEncodings walks the doors through which texts come in: each names the place of the first byte
// that is not UTF-8, and takes a byte-order mark off. In the texts below, caf\xe9 is Latin-1.
func TestEncodings(t *testing.T) {
	const (
		flowText = "name: w\ninputs: {type: object, properties: {q: {type: string, default: ''}, question: {type: string, default: ''}}}\n" +
			"steps: [{id: a, call: template, with: {template: '[{{ v }}]', values: {v: '{{ inputs.q }}{{ inputs.question }}'}}}]\noutputs: {o: '{{ a.text }}'}\n"
		reads = "name: w\nsteps: [{id: a, call: template, with: {template: '[{{ v }}]', values: {v: !file d.txt}}}]\noutputs: {o: '{{ a.text }}'}\n"
		tests = "flow: w.yaml\ndataset: {file: d%s}\ncases: [{name: c, expect: [{output: o, equals: '[{{ row.q }}]'}]}]\n"
	)
	testOf := func(ending string) string { return strings.Replace(tests, "%s", ending, 1) }
	run := []string{"run", "w.yaml", "--ephemeral", "--outputs"}
	for name, door := range map[string]struct {
		files map[string]string // w.yaml is flowText unless it is here
		args  []string
		stdin string
		code  int
		want  string // in the output or the messages
		mark  string // the output for the same text in UTF-8 behind a byte-order mark; "" if the door has none
	}{
		"flow":                {map[string]string{"w.yaml": "name: caf\xe9\n"}, []string{"lint", "w.yaml"}, "", 2, "w.yaml:1:10: the text is not UTF-8 here", ""},
		"settings":            {map[string]string{"s.yaml": "secrets: [] # caf\xe9\n"}, []string{"lint", "w.yaml", "--config", "s.yaml"}, "", 2, "s.yaml:1:18: the text is not UTF-8 here", ""},
		"-i file":             {map[string]string{"d.txt": "caf\xe9"}, append(run, "-i", "q=@d.txt"), "", 2, "d.txt:1:4: the text is not UTF-8 here; it looks like Windows-1252 (save it as UTF-8)", "[café]"},
		"-i stdin":            {nil, append(run, "-i", "q=@-"), "caf\xe9", 2, "-:1:4: the text is not UTF-8 here", "[café]"},
		"-i value":            {nil, append(run, "-i", "q=caf\xe9"), "", 2, "-i q: 1:4: the text is not UTF-8 here", ""},
		"--question":          {nil, append(run, "--question", "caf\xe9"), "", 2, "--question: 1:4: the text is not UTF-8 here", ""},
		"--question stdin":    {nil, append(run, "--question", "-"), "caf\xe9", 2, "--question: -:1:4: the text is not UTF-8 here", "[café]"},
		"--input":             {map[string]string{"d.json": "{\"q\": \"caf\xe9\"}"}, append(run, "--input", "d.json"), "", 2, "d.json:1:11: the text is not UTF-8 here", "[café]"},
		"--conversation":      {map[string]string{"d.yaml": "[{role: user, content: caf\xe9}]"}, append(run, "--conversation", "d.yaml"), "", 2, "d.yaml:1:27: the text is not UTF-8 here", ""},
		"--with":              {nil, []string{"call", "template", "--with", "-"}, "template: '[caf\xe9]'", 2, "-:1:16: the text is not UTF-8 here", "[café]"},
		"call --jsonl":        {nil, []string{"call", "template", "--jsonl", "-"}, "{\"id\":1,\"with\":{\"template\":\"[caf\xe9]\"}}", 0, "line 1: the JSON at 1:33: the text is not UTF-8 here", "[café]"},
		"!file":               {map[string]string{"w.yaml": reads, "d.txt": "caf\xe9"}, run, "", 2, "d.txt:1:4: the text is not UTF-8 here", "[café]"},
		"!file of data":       {map[string]string{"w.yaml": strings.Replace(reads, "d.txt", "d.json", 1), "d.json": "\"caf\xe9\""}, run, "", 2, "d.json:1:5: the text is not UTF-8 here", "[café]"},
		"dataset CSV":         {map[string]string{"w.test.yaml": testOf(".csv"), "d.csv": "q\ncaf\xe9\n"}, []string{"test", "w.test.yaml"}, "", 2, "d.csv:2:4: the text is not UTF-8 here; it looks like Windows-1252 (save it as UTF-8; Excel calls that CSV UTF-8)", "1 passed"},
		"dataset JSON lines":  {map[string]string{"w.test.yaml": testOf(".jsonl"), "d.jsonl": "{\"q\": \"caf\xe9\"}\n"}, []string{"test", "w.test.yaml"}, "", 2, "d.jsonl:1:11: the text is not UTF-8 here", "1 passed"},
		"dataset YAML":        {map[string]string{"w.test.yaml": testOf(".yaml"), "d.yaml": "- {q: caf\xe9}\n"}, []string{"test", "w.test.yaml"}, "", 2, "d.yaml:1:10: the text is not UTF-8 here", "1 passed"},
		"test file":           {map[string]string{"w.test.yaml": "flow: w.yaml\n# caf\xe9\n"}, []string{"test", "w.test.yaml"}, "", 2, "w.test.yaml:2:6: the text is not UTF-8 here", ""},
		"OpenAPI":             {map[string]string{"d.yaml": "openapi: 3.0.3 # caf\xe9\n"}, []string{"call", "http", "--with", "-"}, "{openapi: d.yaml, operation: x}", 2, "1:21: the text is not UTF-8 here", ""},
		"config of input":     {map[string]string{"d.json": "{} // caf\xe9\n"}, []string{"call", "input", "--with", "-"}, "{config_path: d.json, strict: true}", 2, "d.json:1:10: the text is not UTF-8 here", ""},
		"workspace":           {map[string]string{"ws/AGENTS.md": "caf\xe9"}, []string{"call", "context", "--with", "-"}, "{workspace: ws, current_message: hi}", 0, "AGENTS.md: skipped: 1:4: the text is not UTF-8 here", "\\n\\ncafé"},
		"skill":               {map[string]string{"ws/skills/s/SKILL.md": "---\nname: s\ndescription: caf\xe9\n---\nx"}, []string{"call", "context", "--with", "-"}, "{workspace: ws, current_message: hi}", 0, "SKILL.md:3:17: the text is not UTF-8 here", "<description>café</description>"},
		"memory import":       {nil, []string{"memory", "import", "--user", "u", "--jsonl", "-"}, "{\"content\": \"caf\xe9\"}", 2, "-:1: column 17: the text is not UTF-8 here", "imported 1 memory"},
		"memory add":          {nil, []string{"memory", "add", "--user", "u", "-"}, "caf\xe9", 2, "stdin: 1:4: the text is not UTF-8 here", "mem"},
		"memory search":       {nil, []string{"memory", "search", "--user", "u", "--jsonl", "-"}, "{\"request\": {\"current_query\": \"caf\xe9\"}}", 1, "-:1: column 35: the text is not UTF-8 here", ""},
		"cassette":            {map[string]string{"w.cassette.yaml": "# caf\xe9\n"}, append(run, "--replay"), "", 2, "w.cassette.yaml:1:6: the text is not UTF-8 here", ""},
		"agent, messages":     {nil, []string{"call", "agent", "--jsonl", "-"}, "{\"with\":{\"prompt\":\"caf\xe9\"},\"llm\":[{\"text\":\"ok\"}]}", 0, "line 1: the JSON at 1:23: the text is not UTF-8 here", "ok"},
		"promptfoo":           {map[string]string{"p.yaml": "prompts: [caf\xe9]"}, []string{"import", "promptfoo", "p.yaml", "-o", "out"}, "", 2, "1:14: the text is not UTF-8 here", ""},
		"promptfoo, a prompt": {map[string]string{"p.yaml": "prompts: [file://d.txt]\ntests: [{vars: {q: x}}]\n", "d.txt": "caf\xe9 {{q}}"}, []string{"import", "promptfoo", "p.yaml", "-o", "out"}, "", 0, "d.txt was not read: 1:4: the text is not UTF-8 here", ""},
		"texts of a language": {
			map[string]string{"s.yaml": "languages: l\n", "w.yaml": "name: w\nlanguage: fr\nsteps: [{id: a, call: summary, with: {messages: [{role: user, content: hi}]}}]\n", "l/fr/summary/summary.txt": "caf\xe9"},
			[]string{"lint", "w.yaml", "--config", "s.yaml"}, "", 2, "summary.txt:1:4: the text is not UTF-8 here", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			try := func(change func(string) string) (code int, said string) {
				t.Chdir(t.TempDir())
				writeFile(t, "w.yaml", flowText)
				for file, text := range door.files {
					if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
						t.Fatal(err)
					}
					writeFile(t, file, change(text))
				}
				var out, problems bytes.Buffer
				code = runProgram(door.args, strings.NewReader(change(door.stdin)), &out, &problems)
				return code, out.String() + problems.String()
			}
			if code, said := try(func(text string) string { return text }); code != door.code || !strings.Contains(said, door.want) || strings.Contains(said, "\ufffd") {
				t.Errorf("exit code %d, want %d and %s\n%s", code, door.code, door.want, said)
			}
			if door.mark == "" {
				return
			}
			marked := func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\xe9", "é") }
			if code, said := try(marked); code != 0 || !strings.Contains(said, door.mark) || strings.Contains(said, "\ufeff") {
				t.Errorf("with a byte-order mark: exit code %d, want %s\n%s", code, door.mark, said)
			}
		})
	}
}
