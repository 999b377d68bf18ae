//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/manifest"
)

// Every request may misbehave in these ways, in a session and without one.
func TestRequest(t *testing.T) {
	for _, at := range []string{"session", "unary"} {
		for mode, want := range map[string]struct {
			kind calls.Kind
			text string
		}{
			"panic":        {calls.Plugin, "function judge: its process ended: exit status 2; it wrote:\npanic: on demand"},
			"exit":         {calls.Plugin, "its process ended: exit status 5; it wrote:\ngiving up"},
			"exit 0":       {calls.Plugin, "its process ended: exit status 0"},
			"kill":         {calls.Plugin, "its process ended: signal: killed"},
			"stop":         {calls.Timeout, "function judge: no answer within 1s"},
			"hang":         {calls.Timeout, "no answer within 1s"},
			"slow":         {calls.Timeout, "no answer within 1s"},
			"too few":      {calls.Plugin, "it returned 2 verdicts for 3 items"},
			"NaN":          {calls.Plugin, "the score of item 0 is NaN (want 0 to 1)"},
			"beyond":       {calls.Plugin, "the score of item 0 is 2 (want 0 to 1)"},
			"large":        {calls.Plugin, "the answer is larger than 1048576 bytes"},
			"not UTF-8":    {calls.Plugin, "invalid UTF-8"},
			"another kind": {calls.Plugin, "it answered with something else than verdicts"},
			"no answer":    {calls.Plugin, "it answered with something else than verdicts"},
			"failure":      {calls.Plugin, "function judge: it went [31mwrong"},
		} {
			t.Run(at+" "+mode, func(t *testing.T) {
				w := newWorld(t, at, "[]", want.kind == calls.Timeout)
				w.trust(t)
				_, err := w.judge(t.Context(), t, "hostile", mode)
				says(t, err, want.kind, want.text)
				saysHow(t, err)
				w.healthy(t, "healthy")
				w.healthy(t, "hostile")
			})
		}
	}
}

// A plugin that wants more memory than limits.memory ends alone, with an error that says why.
func TestMemoryLimit(t *testing.T) {
	w := newWorld(t, "", "[]")
	file := filepath.Join(w.dir, "plugins", "hostile", manifest.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	limited := strings.Replace(string(text), "limits: {", "limits: {memory: 256MiB, ", 1)
	if err := os.WriteFile(file, []byte(limited), 0o600); err != nil {
		t.Fatal(err)
	}
	w.trust(t)
	w.healthy(t, "hostile")
	_, err = w.judge(t.Context(), t, "hostile", "allocate")
	says(t, err, calls.Plugin, "its process ended: exit status 2")
	// A Go program ends in one of three ways, depending on the missing resource: memory, or a thread.
	why := regexp.MustCompile(`cannot allocate memory|out of memory|runtime/cgo: pthread_create failed`)
	if err != nil && !why.MatchString(err.Error()) {
		t.Errorf("the error does not tell why: %v", err)
	}
	w.healthy(t, "healthy")
	w.healthy(t, "hostile")
}

func TestReplyToNoRequest(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for _, mode := range []string{"wrong id", "zero id"} {
		_, err := w.judge(t.Context(), t, "hostile", mode)
		says(t, err, calls.Plugin, "it broke the protocol: it answered request ")
		saysHow(t, err)
		w.healthy(t, "healthy")
		w.healthy(t, "hostile")
	}
}

func TestVariable(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for mode, want := range map[string]string{
		"bad schema": "variable hostile_value: the value of hostile_value: it does not fit its schema: ",
		"NaN":        "it is not JSON",
		"not UTF-8":  "it is not JSON",
		"other name": `it returned a value for "uninvited", which was not requested`,
	} {
		err := w.resolve(t.Context(), "hostile", mode)
		says(t, err, calls.Plugin, want)
		saysHow(t, err)
		w.healthy(t, "hostile")
	}
}

func TestCall(t *testing.T) {
	for mode, want := range map[string]struct {
		kind calls.Kind
		text string
	}{
		"panic":              {calls.Plugin, "call act: its process ended: exit status 2; it wrote:\npanic: on demand"},
		"kill":               {calls.Plugin, "its process ended: signal: killed"},
		"exit in the middle": {calls.Plugin, "its process ended: exit status 6"},
		"stop":               {calls.Timeout, "it put out nothing for 1s"},
		"hang in the middle": {calls.Timeout, "it put out nothing for 1s"},
		"slow drip":          {calls.Timeout, "it was not done within 2s"},
		"chunks":             {calls.Plugin, "it put out more than 1000 chunks"},
		"output":             {calls.Plugin, "it put out more than 3 MiB"},
		"large":              {calls.Plugin, "the answer is larger than 1048576 bytes"},
		"text after data":    {calls.Plugin, "it put out text after data"},
		"bad schema":         {calls.Plugin, "its output: it does not fit its schema: "},
		"no JSON":            {calls.Plugin, "its output: it is not JSON"},
		"NaN":                {calls.Plugin, "its output: it is not JSON"},
		"nothing":            {calls.Plugin, "it put out an empty chunk"},
		"not UTF-8":          {calls.Plugin, "invalid UTF-8"},
	} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, "", "[]", want.kind == calls.Timeout)
			w.trust(t)
			_, err := w.exec(t.Context(), t, "hostile", "act", mode)
			says(t, err, want.kind, want.text)
			saysHow(t, err)
			w.healthy(t, "healthy")
			w.healthy(t, "hostile")
		})
	}
}

func TestInit(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	_, err := w.exec(t.Context(), t, "hostile", "prepare", "bad input")
	says(t, err, calls.Plugin, "call prepare: its input: it does not fit its schema: /other")
	if out, err := w.exec(t.Context(), t, "hostile", "prepare", "fine"); err != nil || out.JSON() != `{"text":"healthy"}` {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestHostServices(t *testing.T) {
	w := newWorld(t, "", "[vars, log, llm]")
	w.trust(t)
	for mode, want := range map[string]string{
		"stolen token": "the host can be called only while a request runs, with the token of that request",
		"model":        "the model cannot be asked here",
		"endless":      "the plugin hostile called the host more than 50 times in one request (limits.host_calls in plugin.yaml)",
	} {
		verdicts, err := w.judge(t.Context(), t, "hostile", mode)
		if err != nil || !strings.Contains(verdicts[0].Reason, want) {
			t.Errorf("%s: the plugin was told %v, %v\nwant %q", mode, verdicts, err, want)
		}
	}
	_, err := w.exec(t.Context(), t, "hostile", "act", "endless")
	says(t, err, calls.Plugin, "the plugin hostile called the host more than 50 times in one request (limits.host_calls in plugin.yaml)")
	for _, mode := range []string{"deaf", "late"} {
		if out, err := w.exec(t.Context(), t, "hostile", "act", mode); err != nil || out.JSON() != `{"text":"healthy"}` {
			t.Errorf("%s: got %s, %v", mode, out, err)
		}
	}
	w.healthy(t, "healthy")
	w.healthy(t, "hostile")
}

// A service that was not granted is refused to functions of every kind.
func TestServicesNotGranted(t *testing.T) {
	for granted, refused := range map[string][]string{"[vars]": {"llm", "memory", "log"}, "[log]": {"vars"}} {
		t.Run(granted, func(t *testing.T) {
			w := newWorld(t, "", granted)
			w.trust(t)
			for _, service := range refused {
				want := "the plugin hostile was not granted the service " + service + " (list it under services in plugin.yaml, then run: scheduler plugins trust hostile)"
				_, err := w.judge(t.Context(), t, "hostile", "use "+service)
				says(t, err, calls.Plugin, want)
				says(t, w.resolve(t.Context(), "hostile", "use "+service), calls.Plugin, want)
				_, err = w.exec(t.Context(), t, "hostile", "act", "use "+service)
				says(t, err, calls.Plugin, want)
			}
			w.healthy(t, "hostile")
		})
	}
}

// With certificates wanted, a plugin without one is refused when it is trusted.
func TestNoCertificate(t *testing.T) {
	w := newWorld(t, "no certificate", "[]")
	w.autoMTLS = true
	w.open(t)
	_, err := w.Trust(t.Context(), "hostile")
	says(t, err, calls.Plugin, "it did not describe itself")
	if _, err := w.Trust(t.Context(), "healthy"); err != nil {
		t.Error(err)
	}
}
