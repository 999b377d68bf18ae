package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wildCommand is a command that a user runs in a folder of files from the real world.
type wildCommand struct {
	args string
	code int
	has  []string // in the output or the messages, in any order
	not  []string
}

// wildFiles are files of other programs, and of people, in test/wild/files: flows, cards, workspaces,
// documents, tests. The commands of a folder run one after the other.
var wildFiles = map[string][]wildCommand{
	"choice-one-word":       {{args: "call choice --jsonl in.jsonl", has: []string{`"branch":"yes"`}}},
	"dataset-utf16":         {{args: "test w.test.yaml", code: 2, has: []string{"d.csv:1:1: the text is not UTF-8 here; it looks like UTF-16"}}},
	"history-orphan-result": {{args: "call context --with in.json", has: []string{`history[1]: the tool result is left out: no message before it calls \"gone\"`}, not: []string{`"late"`}}},
	"input-file-gbk": {
		{args: "run w.yaml --ephemeral --outputs -i q=@q.txt", code: 2, has: []string{"q.txt:1:1: the text is not UTF-8 here; it looks like GBK"}},
		{args: "run w.yaml --ephemeral --outputs -i q=@bom.txt", has: []string{`"o": "hello\n"`}},
	},
	"memory-same-words": {
		{args: "memory import --user u --jsonl m.jsonl"},
		{args: "memory search --user u --json which_tea_do_I_like", has: []string{"JASMINE TEA"}, not: []string{"jasmine"}},
	},
	"memory-signs": {
		{args: "memory import --user u --jsonl m.jsonl"},
		{args: "memory search --user u 🍣", has: []string{"My favourite"}},
		{args: "memory search --user u Strasse", has: []string{"Straße"}},
		{args: "memory search --user u 禁用_webfetch_抓取工具_config.toml", has: []string{"webfetch"}},
	},
	"memory-yesterday-east": {
		{args: "memory import --user u --jsonl m.jsonl"},
		{args: "run w.yaml --outputs", has: []string{"4 March 2026\",\n      \"content\": \"We met Boris", "5 March 2026\",\n      \"content\": \"We met Anna"}},
	},
	"openapi-null-left-out": {{args: "call http --with in.json", code: 1, not: []string{"want array"}}},
	"openapi-path-files":    {{args: "lint w.yaml"}},
	"promptfoo-all-skipped": {
		{args: "import promptfoo promptfooconfig.yaml -o out"},
		{args: "lint out"},
	},
	"promptfoo-env-in-prompt": {
		{args: "import promptfoo promptfooconfig.yaml -o out"},
		{args: "lint out"},
	},
	"promptfoo-stored-output": {
		{args: "import promptfoo promptfooconfig.yaml -o out"},
		{args: "test out", code: 4, has: []string{"2 skipped"}},
	},
	"skill-clawdbot-requires": {{args: "call context --with in.json", has: []string{`available=\"false\"`, "CLI: nope-bin-xyz"}}},
	"slot-const":              {{args: "call slot --jsonl in.jsonl", has: []string{`"slot_data":{"kind":"order"},"remaining_schema":{}`}}},
	"slot-list-as-text":       {{args: "call slot --jsonl in.jsonl", has: []string{`"slot_data":{"tags":["red","blue"]},"remaining_schema":{}`}}},
	"slot-placeholder":        {{args: "call slot --jsonl in.jsonl", has: []string{`"slot_data":{},"remaining_schema":{`, `"/city"`, `"/date"`}}},
	"slot-union-in-pieces":    {{args: "call slot --jsonl in.jsonl", has: []string{`"slot_data":{"pay":{"kind":"card","last4":"1234"}},"remaining_schema":{}`}}},
	"workspace-root-memory":   {{args: "call context --with in.json", has: []string{"Lin is allergic to peanuts."}}},
	"yaml-1.2-directive":      {{args: "lint w.yaml"}, {args: "run w.yaml --ephemeral"}},
	"yaml-merge-keys":         {{args: "lint w.yaml"}, {args: "run w.yaml --ephemeral --explain a", has: []string{"hi Bob"}}},
	// Folders, and flows that programs write as JSON.
	"serve-json-flow": {{args: "lint flows"}, {args: "run flows/c.yaml --ephemeral"}},
	"webhook-bodies":  {{args: "lint flows"}},
}

func TestWildFiles(t *testing.T) {
	root, err := filepath.Abs("../../test/wild/files")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			commands, ok := wildFiles[folder.Name()]
			if !ok {
				t.Fatal("nothing is expected of it")
			}
			t.Chdir(t.TempDir())
			t.Setenv("GH_KEY", "ghsecret12345")
			if err := os.CopyFS(".", os.DirFS(filepath.Join(root, folder.Name()))); err != nil {
				t.Fatal(err)
			}
			for _, command := range commands {
				command.check(t)
			}
		})
	}
}

// check runs the command; an underscore in its words is a space.
func (c wildCommand) check(t *testing.T) {
	t.Helper()
	args := strings.Fields(c.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "_", " ")
	}
	var out, problems bytes.Buffer
	code := runProgram(args, strings.NewReader(""), &out, &problems)
	said := out.String() + problems.String()
	if code != c.code {
		t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
	}
	for _, want := range c.has {
		if !strings.Contains(said, want) {
			t.Errorf("%s: no %s", c.args, want)
		}
	}
	for _, wrong := range c.not {
		if strings.Contains(said, wrong) {
			t.Errorf("%s: it has %s", c.args, wrong)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}
