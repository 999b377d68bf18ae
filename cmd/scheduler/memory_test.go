package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/memory"
)

// memoryProgram runs the program in a directory of its own.
type memoryProgram struct {
	t              *testing.T
	stdout, stderr bytes.Buffer
}

func newMemoryProgram(t *testing.T) *memoryProgram {
	t.Helper()
	t.Chdir(t.TempDir())
	return &memoryProgram{t: t}
}

// run returns the exit code.
func (p *memoryProgram) run(stdin string, args ...string) int {
	p.t.Helper()
	p.stdout.Reset()
	p.stderr.Reset()
	return runProgram(args, strings.NewReader(stdin), &p.stdout, &p.stderr)
}

// must fails the test if the program fails.
func (p *memoryProgram) must(stdin string, args ...string) string {
	p.t.Helper()
	if code := p.run(stdin, args...); code != exitDone {
		p.t.Fatalf("%v: exit code %d\n%s", args, code, &p.stderr)
	}
	return p.stdout.String()
}

func (p *memoryProgram) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// lines are n memories of several users.
func memoryLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id": "memory_00000000-0000-4000-8000-%012d", "content": "The number %d of %s.", "timestamp": "2026-03-05T09:07:00Z", "context": {"user_id": "u%d"}}`+"\n",
			i, i, strings.Repeat("many words that fill a page ", 6), i%3)
	}
	return b.String()
}

// An empty id, for example from an unset variable, is refused: nothing is deleted.
func TestMemoryDeleteOfNoID(t *testing.T) {
	p := newMemoryProgram(t)
	p.must("", "memory", "add", "--user", "ann", "Figs are ripe in August.")
	for _, args := range [][]string{{""}, {"", "--user", "ann"}, {"", "--all-users"}} {
		if code := p.run("", append([]string{"memory", "delete"}, args...)...); code != exitUsage || !strings.Contains(p.stderr.String(), `"" is not the id of a memory`) {
			t.Errorf("%q: exit code %d\n%s", args, code, &p.stderr)
		}
	}
	if found := p.must("", "memory", "search", "--user", "ann", "figs"); !strings.Contains(found, "August") {
		t.Errorf("found %q", found)
	}
}

// Text that is not UTF-8 is refused, for two names could become one; a byte-order mark, which editors put in
// front, is not part of the text.
func TestMemoryEncodings(t *testing.T) {
	p := newMemoryProgram(t)
	for want, args := range map[string][]string{
		"the content of a memory is not valid UTF-8": {"fa\xe7ade"},
		`the user "M\xfcller" is not valid UTF-8`:    {"--user", "M\xfcller", "x"},
		`the session "\xff" is not valid UTF-8`:      {"--session", "\xff", "x"},
		`--role: "\xff" is not UTF-8`:                {"--role", "\xff", "x"},
		`--context: "M\xfcller" is not UTF-8`:        {"--context", "M\xfcller", "x"},
	} {
		if code := p.run("", append([]string{"memory", "add", "--user", "ann"}, args...)...); code != exitUsage || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("%q: exit code %d\n%s", args, code, &p.stderr)
		}
	}
	for _, args := range [][]string{{"list"}, {"search", "x"}, {"stats"}, {"delete", "--yes"}, {"export", "out"}, {"snapshot", "list"}, {"snapshot", "run"}} {
		args = append([]string{"memory"}, args...)
		if code := p.run("", append(args, "--user", "M\xfcller")...); code != exitUsage || !strings.Contains(p.stderr.String(), `the user "M\xfcller" is not valid UTF-8`) {
			t.Errorf("%q: exit code %d\n%s", args, code, &p.stderr)
		}
	}
	for _, nameless := range []string{"", " \t"} {
		if code := p.run("", "memory", "add", "--user", nameless, "x"); code != exitUsage || !strings.Contains(p.stderr.String(), "no user is given") {
			t.Errorf("the user %q: exit code %d\n%s", nameless, code, &p.stderr)
		}
	}
	if code := p.run("{\"content\": \"one\"}\n{\"content\": \"é fa\xe7ade\"}\n", "memory", "import", "--jsonl", "-"); code != exitUsage ||
		!strings.Contains(p.stderr.String(), "-:2: column 18: the text is not UTF-8 here; it looks like Windows-1252 (save it as UTF-8)") {
		t.Errorf("exit code %d\n%s", code, &p.stderr)
	}
	if code := p.run("\xff\xfet\x00", "memory", "add", "--user", "ann", "-"); code != exitUsage { // UTF-16
		t.Errorf("exit code %d\n%s", code, &p.stderr)
	}
	id := strings.TrimSpace(p.must("\ufefftea\r\n", "memory", "add", "--user", "ann", "-"))
	if got := p.must("", "memory", "export", "--jsonl", "-"); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"content":"tea"`) {
		t.Errorf("got %s", got)
	}
	p.must("", "memory", "export", "out")
	file := filepath.Join("out", "memories", id+".json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p.write(file, strings.Replace(string(data), `"user_id": "ann"`, "\"user_id\": \"M\xfcller\"", 1))
	p.must("", "memory", "import", "out", "--state-dir", "other")
	if said := p.stderr.String(); !strings.Contains(said, "the text is not UTF-8 here") || !strings.Contains(said, "imported 0 memories") {
		t.Errorf("said %s", said)
	}
}

func TestMemoryMirror(t *testing.T) {
	p := newMemoryProgram(t)
	p.write("scheduler.yaml", "memory: {mirror: mirror}\n")
	id := strings.TrimSpace(p.must("", "memory", "add", "--user", "ann", "Figs are ripe in August."))
	p.must("", "memory", "add", "--user", "ben", "Plums are ripe in September.")
	p.must("", "memory", "snapshot", "run", "--all")
	p.must("", "memory", "export", "out")
	same := func() {
		t.Helper()
		for _, dir := range []string{"memories", "snapshots", "meta_snapshots"} {
			a, err := os.ReadDir(filepath.Join("mirror", dir))
			b, err2 := os.ReadDir(filepath.Join("out", dir))
			if err != nil || err2 != nil || len(a) != len(b) {
				t.Errorf("%s: %v, %v, %v, %v", dir, a, b, err, err2)
			}
		}
		a, err := os.ReadFile("mirror/index.json")
		b, err2 := os.ReadFile("out/index.json")
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%v, %v: the index is\n%s\nwant\n%s", err, err2, a, b)
		}
	}
	same()
	p.must("", "memory", "delete", id)
	p.must("", "memory", "export", "out")
	same()
	p.write("scheduler.yaml", "memory: {mirror: scheduler.yaml}\n")
	if code := p.run("", "memory", "add", "--user", "ann", "x"); code != exitFailed {
		t.Errorf("exit code %d\n%s", code, &p.stderr)
	}
}

func TestMemoryGet(t *testing.T) {
	p := newMemoryProgram(t)
	p.write("scheduler.yaml", "memory: {snapshot: {llm: [down, echo]}}\nllm: {providers: [{name: down, base_url: \"http://127.0.0.1:1/v1\", max_retries: 0}]}\n")
	p.must("", "memory", "add", "--user", "ann", "--session", "s", "Figs are ripe in August.")
	var made memory.Report
	if err := json.Unmarshal([]byte(p.must("", "memory", "snapshot", "run", "--all", "--json")), &made); err != nil || len(made.Snapshots) != 1 || len(made.MetaSnapshots) != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	if said := p.stderr.String(); !strings.Contains(said, "made 1 snapshot, 1 meta snapshot (") || !strings.Contains(said, "tokens in") {
		t.Errorf("what the model was paid is not said: %s", said)
	}
	for id, want := range map[string]string{made.Snapshots[0]: "key_points: \n  - Figs are ripe in August.", made.MetaSnapshots[0]: "description: Figs"} {
		if out := p.must("", "memory", "get", id); !strings.Contains(out, want) {
			t.Errorf("%s: %s", id, out)
		}
		if out := p.must("", "memory", "get", id, "--user", "ann", "--json"); !strings.Contains(out, `"id": "`+id+`"`) {
			t.Errorf("%s: %s", id, out)
		}
		if code := p.run("", "memory", "get", id, "--user", "ben"); code != exitFailed {
			t.Errorf("%s of another: exit code %d", id, code)
		}
	}
	for _, args := range [][]string{{"get", made.Snapshots[0], "--history"}, {"delete", made.Snapshots[0]}} {
		if code := p.run("", append([]string{"memory"}, args...)...); code != exitUsage || !strings.Contains(p.stderr.String(), "memor") || strings.Contains(p.stderr.String(), "leave the id out") {
			t.Errorf("%v: exit code %d, %s", args, code, &p.stderr)
		}
	}
	for _, id := range []string{"snapshot_x", "meta_../x", "memory_", "x"} {
		if code := p.run("", "memory", "get", id); code != exitUsage || !strings.Contains(p.stderr.String(), "and a UUID") {
			t.Errorf("%s: exit code %d, %s", id, code, &p.stderr)
		}
	}
}

func TestMemoryLinesToFile(t *testing.T) {
	p := newMemoryProgram(t)
	p.must(memoryLines(5), "memory", "import", "--jsonl", "-")
	if out := p.must("", "memory", "export", "--jsonl", "out.jsonl", "--json"); !strings.Contains(out, `"memories": 5`) {
		t.Errorf("got %s", out)
	}
	p.must("", "memory", "import", "--jsonl", "out.jsonl", "--state-dir", "second")
	first, second := p.must("", "memory", "export", "--jsonl", "-"), p.must("", "memory", "export", "--jsonl", "-", "--state-dir", "second")
	if first != second || strings.Count(first, "\n") != 5 {
		t.Errorf("got\n%swant\n%s", second, first)
	}
	for _, args := range [][]string{
		{"export", "--jsonl", "no/such/folder"}, {"export", "--jsonl", "-", "--json"}, {"export", "dir", "--jsonl", "x"},
		{"import", "--jsonl", "."}, {"import", "--jsonl", "nothing"}, {"import", "x", "--jsonl", "y"}, {"import", ".", "--session", "s"},
		{"search", "x", "--jsonl", "y"}, {"search", "--jsonl", "nothing"}, {"search"}, {"search", "--user", "u", "--min-relevance", "2", "x"},
		{"search", "--user", "u", "--now", "soon", "x"}, {"search", "--jsonl", "-", "--now", "soon"}, {"search", "--jsonl", "-", "--limit", "0"},
		{"search", "--jsonl", "-", "--user", "u", "--all-users"}, {"cleanup", "--user", "u"}, {"cleanup", "--user", "u", "--days", "0"},
		{"cleanup", "--user", "u", "--days", "1", "--now", "soon"}, {"add", "--timestamp", "soon", "x"}, {"add", "--context", "{x", "x"},
		{"delete", "x"}, {"delete", "--user", "u", "--all-users"}, {"stats", "--user", "u", "--all-users"}, {"snapshot", "run", "--user", "u", "--all-users"},
	} {
		if code := p.run("", append([]string{"memory"}, args...)...); code != exitUsage || p.stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %s", args, code, &p.stderr)
		}
	}
}

func TestMemorySettings(t *testing.T) {
	p := newMemoryProgram(t)
	for text, want := range map[string]string{
		"snapshot: {llm: nobody}":                `unknown provider "nobody"`,
		"snapshot: {llm: [echo, echo]}":          `the provider "echo" is listed twice`,
		"snapshot: {llm: 'echo,nobody'}":         `unknown provider "nobody"`,
		"snapshot: {memories: 0}":                "0 is not between 1 and 32",
		"snapshot: {snapshots: 99}":              "99 is not between 1 and 32",
		"snapshot: {drain: -1s}":                 "must not be negative",
		"embeddings: {provider: echo, model: m}": "not one of llm.providers",
		"snapshot: {idel: 3s}":                   "idel",
		"snapshot: {idle: 3}":                    "invalid duration",
	} {
		p.write("scheduler.yaml", "memory:\n  "+text+"\n")
		if code := p.run("", "memory", "stats"); code != exitUsage || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s", text, code, &p.stderr)
		}
	}
}
