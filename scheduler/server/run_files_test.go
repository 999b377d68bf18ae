package server_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestFiles: the flow as kept by the run, even if it has changed, and the present files that its prompts name; no
// others.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	path := "/api/v1/runs/" + f.start(token, "space", `{}`) + "/files"
	for name, text := range map[string]string{"space.yaml": "steps: []\n", "ws/AGENTS.md": "Be very brief.\n", "ws/SECRET.md": "secret"} {
		if err := os.WriteFile(filepath.Join(dir, "flows", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := f.do(token, "GET", path, "")
	flow, agents := list.at("/items/0/path"), list.at("/items/1/path")
	if flow != "space.yaml" || agents != "ws/AGENTS.md" || strings.Contains(list.text, "SECRET") {
		t.Fatalf("got %s", list.text)
	}
	if r := f.do(token, "GET", path+"?path="+flow, ""); r.at("/items/0/content") != flows["space.yaml"] || r.at("/items/0/current") != "false" {
		t.Errorf("the flow is %s", r.text)
	}
	if r := f.do(token, "GET", path+"?path="+agents, ""); r.at("/items/0/content") != "Be very brief.\n" || r.at("/items/0/current") != "true" || r.at("/items/0/changed") != "true" {
		t.Errorf("AGENTS.md is %s", r.text)
	}
	whole := path + "?path=" + filepath.Join(dir, "flows", "space.yaml")
	if r := f.do(f.token("", store.RunsRead), "GET", whole, ""); r.at("/items/0/path") != "space.yaml" {
		t.Errorf("the flow by its whole path is %s", r.text)
	}
	if r := f.do(token, "GET", whole, ""); r.status != http.StatusNotFound {
		t.Errorf("a bound token is told where the flow is: %s", r.text)
	}
	for _, other := range []string{"ws/SECRET.md", "/etc/passwd", "../serve.db", filepath.Join(dir, "serve.db")} {
		if r := f.do(token, "GET", path+"?path="+other, ""); r.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", other, r.status, r.text)
		}
	}
}

// TestChangedFiles: a file that the run has not kept is reported as changed if it was written after the run read
// it, or if the text of a prompt is not at its place, however old the file is.
func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	agents := filepath.Join(dir, "flows", "ws", "AGENTS.md")
	long := time.Now().Add(-time.Hour)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(agents, []byte(text), 0o600), os.Chtimes(agents, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"lines": "Be brief.\n", "Windows": "\ufeffBe brief.\r\nBe kind.\r\n", "spaces": "\n\n  Be brief. \n\n# Last\n\n"} {
		write(text, long)
		path := "/api/v1/runs/" + f.start(token, "space", `{}`) + "/files?path=ws/AGENTS.md"
		for _, test := range []struct {
			text    string
			at      time.Time
			changed string
		}{
			{text, long, "null"},
			{text, time.Now().Add(time.Minute), "true"},
			{strings.Replace(text, "brief", "quick", 1), long, "true"},
			{"", long, "true"},
		} {
			write(test.text, test.at)
			if r := f.do(token, "GET", path, ""); r.at("/items/0/changed") != test.changed || r.at("/items/0/current") != "true" {
				t.Errorf("%s, as %q of %v: %s", name, test.text, test.at, r.text)
			}
		}
	}
}

// TestEditedFiles: of a flow that was edited while its run waited, each step names places in the text that it ran with, and the
// files of the run have that text by the seq of the source.
func TestEditedFiles(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite, store.FlowsWrite)
	const flow = `name: long
steps:
  - {id: first, call: context, with: {identity: "The first words", current_message: hi}}
  - {id: place, call: slot, with: {stages: [], current_schema: {type: object, required: [city], properties: {city: {type: string}}}}}
  - {id: last, call: context, needs: [place], with: {identity: "{{ first.messages[0].content }}", current_message: hello}}
`
	edited := "# One more line.\n" + strings.Replace(flow, "hello", "good morning", 1)
	if err := os.WriteFile(filepath.Join(f.dir, "flows", "long.yaml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	run := f.start(token, "long", `{}`)
	body := value.OfMap(value.Pairs("flow", value.OfMap(value.Pairs("text", edited)))).JSON()
	if r := f.do(token, "POST", "/api/v1/runs/"+run+"/resume", body); r.status != http.StatusAccepted {
		t.Fatalf("%d %s", r.status, r.text)
	}
	f.eventually("the edited run waits again, and takes an answer", func() bool {
		r := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"answers": [{"step": "place", "pointer": "/city", "value": "Lyon"}]}`)
		return r.status == http.StatusAccepted
	})
	f.waitForState(token, run, journal.RunFinished)
	prompts := f.do(token, "GET", "/api/v1/runs/"+run+"/prompts?step=last", "")
	files := "/api/v1/runs/" + run + "/files?path="
	for _, test := range []struct{ pointer, line, text string }{
		{"/prompts/0/messages/0/pieces/0/sources/0", "3", flow},
		{"/prompts/0/messages/1/pieces/0/sources/0", "6", edited},
	} {
		file, seq := prompts.at(test.pointer+"/file"), prompts.at(test.pointer+"/seq")
		if seq == "null" {
			seq = "0"
		}
		r := f.do(token, "GET", files+file+"&seq="+seq, "")
		if prompts.at(test.pointer+"/line") != test.line || (seq == "0") != (test.text == edited) || r.at("/items/0/content") != test.text || (r.at("/items/0/until") == "null") != (seq == "0") {
			t.Errorf("%s: %s\n%s", test.pointer, prompts.text, r.text)
		}
	}
}
