package examples

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/test/slow"
)

// say runs the call rough.say.
func say(t *testing.T, r *calls.Registry, text string) (string, error) {
	t.Helper()
	def, ok := r.Call("rough.say")
	if !ok {
		t.Error("there is no rough.say")
		return "", errors.New("no call")
	}
	call, err := def.New(value.OfMap(value.Pairs("text", text)))
	if err != nil {
		return "", err
	}
	input, err := call.Init(t.Context(), &calls.Vars{})
	if err != nil {
		return "", err
	}
	out, err := callstest.CollectOutput(call.Exec(t.Context(), calls.NewEnv(), input))
	return out.JSON(), err
}

// rough checks that one process answers all of this: outputs as they are, and errors thrown by functions as
// failures with their messages.
func rough(t *testing.T, dir string, answers, failures map[string]string) *calls.Registry {
	t.Helper()
	h, err := host.Single(t.Context(), dir, host.Options{})
	r := registered(t, h, err)
	for text, want := range answers {
		if got, err := say(t, r, text); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	pid := func() string {
		values, err := resolve(t, r, "rough_pid")
		if err != nil {
			t.Error(err)
		}
		return string(values["rough_pid"])
	}
	first := pid()
	for text, want := range failures {
		_, err := say(t, r, text)
		if err == nil || err.Error() != "plugin rough, call say: "+want {
			t.Errorf("%s: got %v\nwant %s", text, err, want)
		}
		if hint := calls.HintOf(err); text == "no hint" && (hint != "" || calls.KindOf(err) != calls.Plugin) {
			t.Errorf("%s: %s, hint %q", text, calls.KindOf(err), hint)
		}
	}
	if _, err := resolve(t, r, "rough_thrown"); err == nil || strings.Contains(err.Error(), "ended") || strings.Contains(err.Error(), "no answer") {
		t.Errorf("the variable: %v", err)
	}
	if _, err := resolve(t, r, "rough_forgotten"); err == nil || !strings.Contains(err.Error(), "forgotten reads state.retrieved without declaring it") {
		t.Errorf("what is not declared: %v", err)
	}
	if first != pid() {
		t.Error("the process did not survive that")
	}
	return r
}

func resolve(t *testing.T, r *calls.Registry, name string) (map[string][]byte, error) {
	t.Helper()
	resolver, ok := r.Resolver(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	values, err := resolver.Resolve(t.Context(), plugins.State{}, []string{name})
	out := map[string][]byte{}
	for name, v := range values {
		out[name] = v
	}
	return out, err
}

func TestRoughPython(t *testing.T) {
	slow.Test(t)
	pluginstest.Python(t)
	dir := newProject(t, "python")
	write(t, dir, map[string]string{
		manifest.FileName: "name: rough\nversion: 1.0.0\ncommand: python3\nargs: [main.py]\n",
		"main.py": `
import os, sys, threading
from scheduler_plugin import TEXT, Error, Plugin

plugin = Plugin("rough", "1.0.0")
PARAMS = {"type": "object", "properties": {"text": {"type": "string"}}}
together = threading.Barrier(200)


@plugin.variable("rough_pid", {"type": "integer"}, en="The process.")
def pid(state):
    return os.getpid()


@plugin.variable("rough_thrown", {"type": "integer"}, en="It exits.")
def thrown(state):
    sys.exit("no value today")


@plugin.variable("rough_forgotten", {"type": "integer"}, en="It does not declare what it reads.")
def forgotten(state):
    return len(state.retrieved)


@plugin.call("say", params=PARAMS, output=TEXT, en="It says what it is told.")
def say(host, params):
    text = params["text"]
    if text == "exit":
        sys.exit("no licence")
    if text == "not UTF-8":
        raise OSError("no file a\udcffb")
    if text == "no hint":
        raise Error("no way out", kind=None, hint=None)
    if text == "yield an object":
        yield {"text": "an object"}
    elif text == "together":
        together.wait()
        yield "all"
    else:
        yield text


plugin.serve()
`,
	})
	r := rough(t, dir, map[string]string{
		"hello":           `{"text":"hello"}`,
		"yield an object": `{"text":"an object"}`,
	}, map[string]string{
		"exit":      "SystemExit: no licence (main.py:29)",
		"not UTF-8": "OSError: no file a?b (main.py:31)",
		"no hint":   "no way out",
	})
	// As many requests as come by default are worked on at the same time: one that
	// waits is not in the way of others, and of the question whether the process lives.
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if got, err := say(t, r, "together"); err != nil || got != `{"text":"all"}` {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	all.Wait()
}

func TestRoughNode(t *testing.T) {
	slow.Test(t)
	dir := pluginstest.Node(t, newProject(t, "node"))
	write(t, dir, map[string]string{
		manifest.FileName: "name: rough\nversion: 1.0.0\ncommand: node\nargs: [main.js]\n",
		"main.js": `
const { Plugin, PluginError, TEXT } = require('./scheduler_plugin')

const plugin = new Plugin('rough', '1.0.0')
const params = { type: 'object', properties: { text: { type: 'string' } } }
plugin.variable('rough_pid', { en: 'The process.', output: { type: 'integer' } }, () => process.pid)
plugin.variable('rough_forgotten', { en: 'It does not declare what it reads.', output: { type: 'integer' } }, state => state.retrieved.length)
plugin.variable('rough_thrown', { en: 'It throws nothing.', output: { type: 'integer' } }, () => { throw undefined })
plugin.call('say', { en: 'It says what it is told.', params, output: TEXT }, (host, { text }) => {
  switch (text) {
    case 'throw nothing': throw undefined
    case 'throw null': throw null
    case 'throw a text': throw 'a text'
    case 'details': throw Object.assign(new Error('"a" is wrong'), { details: [{ a: 1 }] })
    case 'odd': throw new PluginError('odd', { kind: 7, hint: { a: 1 } })
    case 'no hint': throw new PluginError('no way out', { kind: null, hint: null })
    case 'return a text': return text
    case 'return an object': return { text }
    case 'yield an object': return (function * () { yield { text } })()
  }
  return (async function * () { yield text.slice(0, 2); yield text.slice(2) })()
})
plugin.serve()
`,
	})
	rough(t, dir, map[string]string{
		"hello":            `{"text":"hello"}`,
		"return a text":    `{"text":"return a text"}`,
		"return an object": `{"text":"return an object"}`,
		"yield an object":  `{"text":"yield an object"}`,
	}, map[string]string{
		"throw nothing": "undefined",
		"throw null":    "null",
		"throw a text":  "a text",
		"details":       `Error: "a" is wrong (main.js:14)`,
		"odd":           "odd",
		"no hint":       "no way out",
	})
}
