package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/test/golden"
)

// shippedRuns are the runs that the cassettes of the flows in flows/ hold: the command lines, one a line. One that begins
// with resume continues the run before.
const shippedRuns = `
quickstart.yaml --now 2026-11-22T09:00:00Z
roleplay.yaml --now 2026-11-22T09:00:00Z
summarise.yaml --now 2026-11-22T09:00:00Z
support.yaml --now 2026-11-22T09:00:00Z
weather.yaml --now 2026-03-05T09:07:00Z
resume --set /city=Hangzhou --now 2026-03-05T09:07:00Z
remember.yaml -i user=lin -i session=monday --now 2026-03-02T09:00:00Z --question Hello,_I_am_Lin._I_moved_to_Lyon_in_March,_and_I_am_allergic_to_peanuts.
remember.yaml -i user=lin -i session=monday --now 2026-03-02T09:02:00Z --question My_cat_is_called_Momo.
remember.yaml -i user=lin -i session=tuesday --now 2026-03-03T18:00:00Z --question What_am_I_allergic_to?
remember.yaml -i user=lin -i session=wednesday --now 2026-03-04T08:00:00Z --question What_is_the_name_of_my_cat?
zh remember.yaml -i user=林 -i session=周一 --now 2026-03-02T09:00:00Z --question 你好，我叫林。我三月搬到了杭州，对花生过敏。
zh remember.yaml -i user=林 -i session=周一 --now 2026-03-02T09:02:00Z --question 我的猫叫豆豆。
zh remember.yaml -i user=林 -i session=周二 --now 2026-03-03T18:00:00Z --question 我对什么过敏？
zh remember.yaml -i user=林 -i session=周三 --now 2026-03-04T08:00:00Z --question 我的猫叫什么名字？
`

// TestFlowsReplay records every flow in flows/, takes everything away that it needed, and plays it in another
// folder: no network, no provider, no store, another clock. The events are equal except for times. -update
// rewrites the cassettes in flows/ and keeps the models' answers in them.
func TestFlowsReplay(t *testing.T) {
	server := newServer(t)
	recorded, played := t.TempDir(), t.TempDir()
	flows, err := filepath.Abs("../../flows")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(recorded, os.DirFS(flows)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(recorded, "scheduler.yaml"), `{llm: {default: main, providers: [{name: main, base_url: "http://127.0.0.1:9/v1"}]}, http: {allow_hosts: ["127.0.0.1:*"]}}`)
	orders := filepath.Join(recorded, "support", "orders.json")
	document, err := os.ReadFile(orders)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, orders, strings.ReplaceAll(string(document), defaultServer, server.URL))
	more := []string{"-i", "server=" + server.URL}
	if golden.Updating() {
		more = nil
	}
	t.Chdir(recorded)
	before := runShipped(t, "--record", more)
	server.Close()
	if golden.Updating() {
		keepCassettes(t, recorded, flows)
	}

	if err := os.RemoveAll(filepath.Join(recorded, ".scheduler")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(played, os.DirFS(recorded)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(recorded); err != nil {
		t.Fatal(err)
	}
	t.Chdir(played)
	writeFile(t, filepath.Join(played, "scheduler.yaml"), "{}")
	after := runShipped(t, "--replay", more)
	for i, line := range before {
		if diff := cmp.Diff(line, after[i]); diff != "" {
			t.Errorf("run %d is another one (-recorded +played)\n%s", i+1, diff)
		}
	}
	if left, _ := filepath.Glob(".scheduler/memory*"); left != nil {
		t.Errorf("a memory was opened: %v", left)
	}
}

// elsewhereFlow has all that may be another on another machine: a secret in prompts whose tokens are counted, steps side by side, a
// sub-flow that warns, items that fail, an agent, the present, and a question to the user.
const elsewhereFlow = `
name: elsewhere
llm: echo
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: left, needs: [], call: chat, with: {user: "left {{ secrets.KEY }} {{ inputs.question }}"}}
  - {id: right, needs: [], call: chat, with: {user: "right {{ inputs.question }} at {{ vars.current_time }}"}}
  - {id: inner, needs: [left, right], call: flow, with: {path: inner/flow.yaml, inputs: {text: "{{ left.text }}"}}}
  - {id: each, call: template, for_each: [1, 0, 2, 0], max_parallel: 4, on_error: continue, with: {template: "{{ 4 / item }}"}}
  - {id: prompt, call: context, with: {max_tokens: 260, current_message: "the key is {{ secrets.KEY }}", history: [
      {role: user, content: "{{ secrets.KEY }} {{ secrets.KEY | upper }} {{ secrets.KEY }} {{ secrets.KEY | urlencode }}"}, {role: assistant, content: "noted"}]}}
  - {id: work, call: agent, with: {system: "the key {{ secrets.KEY }}", prompt: "use {{ secrets.KEY }}", max_tokens: 5000}}
  - {id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [city], properties: {city: {type: string}}}}}
  - {id: broken, call: template, on_error: continue, with: {template: "{{ nothing.there }}", values: {nothing: {}}}}
outputs: {city: "{{ ask.slot_data.city }}", tokens: "{{ prompt.tokens }}", used: "{{ work.usage }}", error: "{{ broken.error }}"}
`

// TestReplayElsewhere records a run and its resumption, and plays both in another folder, language and time zone, without the secret.
// The events of each step are equal and in order. Events of parallel steps have no fixed order among each other:
// it only depends on which goroutine came first, and every name that a template sees is in the order of the file,
// so the outputs are still equal.
func TestReplayElsewhere(t *testing.T) {
	recorded, played := t.TempDir(), filepath.Join(t.TempDir(), "other", "place")
	writeFile(t, filepath.Join(recorded, "scheduler.yaml"), "{secrets: [KEY]}")
	if err := os.MkdirAll(filepath.Join(recorded, "flows", "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(recorded, "flows", "flow.yaml"), elsewhereFlow)
	writeFile(t, filepath.Join(recorded, "flows", "inner", "flow.yaml"), `
name: inner
inputs: {type: object, properties: {text: {type: string}}}
steps: [{id: warn, call: context, with: {workspace: ., skill_names: [missing], current_message: "{{ inputs.text }}"}}]
`)
	begin := []string{"flows/flow.yaml", "--json", "--question", "What is new?"}
	goOn := []string{"resume", "last", "--json", "--set", "/city=Lyon"}
	t.Chdir(recorded)
	t.Setenv("KEY", "Zq7+w/Kx9=Lm&t<u>-4711")
	t.Setenv("TZ", "Europe/Paris")
	t.Setenv("LANG", "en_US.UTF-8")
	before := []string{playableEvents(t, append([]string{"run", "--record"}, begin...)), playableEvents(t, goOn)}
	if !strings.Contains(before[0], "skill_names") || !strings.Contains(before[1], "nothing.there is undefined") {
		t.Errorf("the run has no warning, or no error:\n%s", before)
	}
	if err := os.RemoveAll(".scheduler"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(played, os.DirFS(recorded)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(played, "flows"))
	begin[0] = "flow.yaml"
	t.Setenv("KEY", "")
	t.Setenv("TZ", "Asia/Shanghai")
	t.Setenv("LANG", "zh_CN.UTF-8")
	after := []string{playableEvents(t, append([]string{"run", "--replay"}, begin...)), playableEvents(t, goOn)}
	for i := range before {
		if diff := cmp.Diff(before[i], after[i]); diff != "" {
			t.Errorf("part %d is another one (-recorded +played)\n%s", i+1, diff)
		}
		if place := regexp.MustCompile(`"(position|source)":"[^"]*(/|\.\.)(tmp|T|var|\.\.)/`).FindString(after[i]); place != "" {
			t.Errorf("part %d has a place of this machine: %s", i+1, place)
		}
	}
}

// defaultServer is the server that the flows ask for forecasts and orders.
const defaultServer = "http://127.0.0.1:8480"

// newServer starts a server of forecasts, and of one order with two parcels.
func newServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/forecast.json":
			fmt.Fprintf(w, `{"city": %q, "date": %q, "sky": "light rain", "high": 18, "low": 12}`, r.FormValue("city"), r.FormValue("date"))
		case "/orders/A-1042":
			fmt.Fprint(w, `{"number": "A-1042", "ordered": "2026-02-20", "items": ["mug", "bowl"], "paid": 48, "currency": "EUR", "parcels": ["P-7", "P-8"]}`)
		case "/parcels/P-7":
			fmt.Fprint(w, `{"state": "delivered", "day": "2026-03-01"}`)
		case "/parcels/P-8":
			fmt.Fprint(w, `{"state": "on its way"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	if golden.Updating() {
		listener, err := net.Listen("tcp", strings.TrimPrefix(defaultServer, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		server.Listener = listener
	}
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// runShipped runs all of shippedRuns, and returns the events of each without their times. A run that is played gets its time from
// the cassette.
func runShipped(t *testing.T, how string, weather []string) (events []string) {
	for line := range strings.Lines(strings.TrimSpace(shippedRuns)) {
		language := "en"
		args := strings.Fields(line)
		if args[0] == "zh" {
			language, args = "zh", args[1:]
		}
		t.Setenv("SCHEDULER_LANGUAGE", language)
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "_", " ")
		}
		switch {
		case args[0] == "resume":
			args = append([]string{"resume", "last", "--json"}, args[1:]...)
		case args[0] == "weather.yaml":
			args = append(append([]string{"run", how, "--json"}, args...), weather...)
		default:
			args = append([]string{"run", how, "--json"}, args...)
		}
		if how == "--replay" {
			args = dropFlag(args, "--now")
		}
		events = append(events, playableEvents(t, args))
	}
	return events
}

// dropFlag returns args without a flag and its value.
func dropFlag(args []string, name string) (kept []string) {
	for i := 0; i < len(args); i++ {
		if args[i] == name {
			i++
			continue
		}
		kept = append(kept, args[i])
	}
	return kept
}

// timesInEvents are the times, and the numbers of events: events of parallel items may change places.
var (
	timesInEvents = regexp.MustCompile(`"(seq|time|duration_ms|first_token_ms)":("[^"]*"|[0-9.e-]+),?`)
	stepInEvents  = regexp.MustCompile(`"step":"[^"]*"(,"index":[0-9]+)?`)
)

// playableEvents runs the program, and returns its events without the parts that differ in each run.
func playableEvents(t *testing.T, args []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := runProgram(args, strings.NewReader(""), &stdout, &stderr)
	if code != exitDone && code != exitWaiting || strings.Contains(stdout.String(), "step.failed") {
		t.Fatalf("%v: exit status %d\n%s%s", args, code, &stdout, &stderr)
	}
	lines := strings.Split(timesInEvents.ReplaceAllString(stdout.String(), ""), "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(stepInEvents.FindString(a), stepInEvents.FindString(b)) })
	return strings.Join(lines, "\n")
}

// keepCassettes copies the cassettes of a folder into flows.
func keepCassettes(t *testing.T, dir, flows string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.cassette.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "error:") || strings.Contains(string(text), dir) {
			t.Fatalf("%s has an error, or a path of this machine", path)
		}
		if err := os.WriteFile(filepath.Join(flows, filepath.Base(path)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
