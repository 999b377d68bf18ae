package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/test/slow"
)

// derivations are the expressions with which templates transform the secrets KEY, PIN, NUM, ROPE and PEM.
var derivations = []string{
	"KEY", "KEY | urlencode", "KEY | e", "KEY | upper", "KEY | lower", "KEY | reverse", "KEY | capitalize",
	"KEY.title()", "KEY[2:9]", "KEY[::-1]", "KEY | replace('q', 'QQ')", "KEY | tojson",
	"KEY | list | join('-')", "KEY | sort | join", "KEY | truncate(9)", "'%30s' | format(KEY)", "('id' ~ KEY ~ 1) | upper",
	"KEY.split('+')[1]", "{'k': [KEY | lower]} | tojson", "KEY | map('upper') | join('/')",
	"[KEY, 1] | string", "KEY | trim | indent(3, true)",
	"PIN | int", "PIN | int * 3", "PIN | reverse", "PIN ~ PIN", "'%x' | format(PIN | int * 99)", "PIN | float",
	"NUM | int", "NUM | int + 1", "NUM | int / 7", "'%e' | format(NUM | float)", "NUM[:11]", "NUM | batch(3) | list | string",
	"ROPE.split('|')[1]", "ROPE.split('|') | last | upper", "ROPE | replace('|', '!')", "ROPE.rsplit('|', 1)[0]",
	"PEM.split('\\n')[1]", "PEM.splitlines()[1][4:16]", "PEM | replace('\\n', ' ')",
}

// secretTexts are so long that no time and no duration in a journal holds one by chance.
var secretTexts = map[string]string{
	"KEY": "Zq7+w/Kx9=Lm&t<u>", "PIN": "471193728461", "NUM": "8392017465038", "ROPE": "alphabravo|charliedelta",
	"PEM": "-----BEGIN-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END-----",
}

// TestDerivedSecrets: a value that a template computes from a secret is neither printed nor stored anywhere,
// whether it stays in the run, goes to a model and comes back, or to a server.
func TestDerivedSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprintf(w, `{"echo": %s}`, value.OfString(r.FormValue("x")).JSON())
	}))
	defer server.Close()
	t.Setenv("SCHEDULER_HTTP_ALLOW_HOSTS", "127.0.0.1:*")
	known := value.NewMap(len(secretTexts))
	names := make([]string, 0, len(secretTexts))
	for name, text := range secretTexts {
		t.Setenv(name, text)
		known.Set(name, value.OfString(text))
		names = append(names, name)
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("scheduler.yaml", "secrets: ["+strings.Join(names, ", ")+"]\n")
	for i, derivation := range derivations {
		if !slow.Enabled() && i%4 != 0 { // each takes six runs
			continue
		}
		expr, err := prompt.ParseExpr(prompt.Source{Text: derivation}, nil)
		if err != nil {
			t.Fatalf("%s: %v", derivation, err)
		}
		v, err := expr.Eval(t.Context(), prompt.Values{Map: known})
		if err != nil {
			t.Fatalf("%s: %v", derivation, err)
		}
		secret := prompt.Text(v)
		for name := range secretTexts {
			derivation = strings.ReplaceAll(derivation, name, "secrets."+name)
		}
		flow := fmt.Sprintf("derive-%d", i)
		write(flow+".yaml", flowOf(flow, derivation, server.URL))
		shown := runAndShow(t, flow)
		for place, text := range shown {
			if strings.Contains(text, secret) {
				at := strings.Index(text, secret)
				t.Errorf("%s: %q is in %s, near %q", derivation, secret, place, text[max(0, at-200):min(len(text), at+200)])
			}
		}
		if !strings.Contains(shown["events"], `> and ***"`) {
			t.Errorf("%s: the step's own text is not there:\n%s", derivation, shown["events"])
		}
	}
}

// A library's log of a server's answer shows no secret either: neither a flow's secret nor a provider's key.
func TestSecretsInLibraryLogs(t *testing.T) {
	t.Chdir(t.TempDir())
	const flowSecret, key = "Zq7wKx9Lmt", "sk-4711-abcdef"
	answered := make(chan struct{}, 2)
	chatty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { answered <- struct{}{} }()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		const body = `{"choices":[{"message":{"content":"x"}}]}`
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		fmt.Fprintf(conn, "HTTP/1.1 400 %s\r\n\r\n", r.Header.Get("Authorization"))
		_, _ = conn.Read(make([]byte, 1)) // the client closes it once it has logged that
	}))
	defer chatty.Close()
	patient := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-answered }))
	defer patient.Close()
	for name, text := range map[string]string{
		"scheduler.yaml": "secrets: [TOKEN]\nhttp: {allow_hosts: [\"127.0.0.1:*\"]}\nllm: {providers: [{name: main, base_url: \"" + chatty.URL + "\", api_key_env: API_KEY, model: m}]}\n",
		"flow.yaml": `
name: flow
llm: main
steps:
  - {id: get, call: http, with: {url: "` + chatty.URL + `", headers: {Authorization: "{{ secrets.TOKEN }}"}}}
  - {id: wait, call: http, with: {url: "` + patient.URL + `"}}
  - {id: ask, call: chat, with: {user: hello}}
  - {id: wait_again, call: http, with: {url: "` + patient.URL + `"}}
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TOKEN", flowSecret)
	t.Setenv("API_KEY", key)
	var stdout, stderr bytes.Buffer
	code := runProgram([]string{"run", "flow.yaml"}, strings.NewReader(""), &stdout, &stderr)
	if shown := stderr.String(); code != 0 || strings.Count(shown, "Unsolicited response") != 2 || !strings.Contains(shown, "***") || strings.Contains(shown, flowSecret) || strings.Contains(shown, key) {
		t.Errorf("exit status %d:\n%s", code, shown)
	}
}

// The files that tests keep hold no secret: not the key of a provider either, which no recorded answer needs.
func TestFilesOfTestsHaveNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	const flowSecret, key = "s3cr3t-of-the-flow", "sk-of-the-provider"
	for name, text := range map[string]string{
		"scheduler.yaml": "secrets: [TOKEN]\nllm: {providers: [{name: main, base_url: \"http://127.0.0.1:9/v1\", api_key_env: API_KEY, model: m}]}\n",
		"a.yaml":         "name: a\nsteps: [{id: made, call: template, with: {template: !raw \"{{ v }}\", values: {v: \"{{ inputs.text }}\"}}}]\n",
		"a.test.yaml": "cases: [{name: of " + key + ", inputs: {text: \"" + flowSecret + " and " + key + "\"}, " +
			"expect: [{output: made, snapshot: true}, {output: made, contains: nothing}]}]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TOKEN", flowSecret)
	t.Setenv("API_KEY", key)
	t.Setenv("CI", "") // in CI --update is refused
	var stdout, stderr bytes.Buffer
	code := runProgram([]string{"test", "--update", "--bless", "main", "--report", "json=out.json"}, strings.NewReader(""), &stdout, &stderr)
	if code != exitFailed {
		t.Fatalf("exit status %d\n%s%s", code, stdout.String(), stderr.String())
	}
	shown := map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path != "a.test.yaml" {
			text, readErr := os.ReadFile(path)
			shown[path], err = string(text), readErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"a.test.snapshots.yaml", filepath.Join(".scheduler", "test", "last.jsonl"), "out.json"} {
		if !strings.Contains(shown[file], "***") {
			t.Errorf("%s shows nothing that is masked:\n%s", file, shown[file])
		}
	}
	for place, text := range shown {
		if strings.Contains(text, flowSecret) || strings.Contains(text, key) {
			t.Errorf("%s shows a secret:\n%s", place, text)
		}
	}
}

// flowOf returns a flow that uses a value derived from a secret in all ways.
func flowOf(name, derivation, server string) string {
	quoted := value.OfString("{{ " + derivation + " }}").JSON()
	inText := value.OfString("say {{ " + derivation + " }} now").JSON()
	return `
name: ` + name + `
steps:
  - {id: made, call: template, with: {template: "<{{ v }}> and {{ v | string | upper }}", values: {v: ` + quoted + `}}}
  - {id: each, call: template, for_each: "{{ [made.text] }}", with: {template: "{{ x }}.", values: {x: "{{ item | lower }}"}}}
  - {id: ask, call: chat, to_user: true, with: {messages: [{role: user, content: ` + inText + `}]}}
  - {id: fetch, call: http, with: {url: "` + server + `/", query: {x: ` + quoted + `}}}
  - {id: wrong, call: template, on_error: continue, with: {template: "{{ v.member }}.", values: {v: ` + quoted + `}}}
  - {id: lookup, call: template, on_error: continue, with: {template: "{{ {}[v | string] }}.", values: {v: ` + quoted + `}}}
  - {id: refused, call: http, on_error: continue, with: {url: "` + server + `/bad", query: {x: ` + quoted + `}}}
outputs: {all: "{{ [made.text, each, ask.text, fetch.body, refused, ` + derivation + `] }}"}
`
}

// runAndShow runs a flow in all ways that print or store something, and returns that.
func runAndShow(t *testing.T, flow string) map[string]string {
	shown := map[string]string{}
	run := func(place string, args ...string) {
		var stdout, stderr bytes.Buffer
		if code := runProgram(args, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("%v: exit status %d\n%s%s", args, code, stdout.String(), stderr.String())
		}
		shown[place], shown["the log of "+place] = stdout.String(), stderr.String()
	}
	run("events", "run", flow+".yaml", "--llm", "echo", "--record", "--json")
	run("explain", "run", flow+".yaml", "--llm", "echo", "--explain")
	run("outputs", "run", flow+".yaml", "--llm", "echo", "--outputs")
	run("runs show", "runs", "show", "last")
	run("runs show --json", "runs", "show", "last", "--json")
	run("runs show --prompt", "runs", "show", "last", "--prompt", "ask")
	files, err := filepath.Glob(".scheduler/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, flow+".cassette.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown[file] = string(text)
	}
	return shown
}
