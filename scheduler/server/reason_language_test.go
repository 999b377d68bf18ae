package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// leavesOut is a flow that leaves texts out of its prompt for many reasons, and a step.
const leavesOut = `
steps:
  - id: never
    call: template
    when: "{{ false }}"
    with: {template: "no"}
  - id: chat
    needs: []
    call: in-chat
    with:
      history: [{role: user, content: We camp in the hills.}]
      budget: 6
      presets_in_chat:
        - {name: far, content: x, position: relative}
        - {name: nowhere, content: x}
      world_books:
        entries:
          - {name: off, content: x, enabled: false, mode: always}
          - {name: empty, content: "", mode: always}
          - {name: false, content: x, mode: conditional, condition: "{{python:1 > 2}}"}
          - {name: keywords, content: x, mode: conditional, condition: "<<keywords:entry,wide>>"}
          - {name: without, content: x, mode: conditional}
          - {name: in, content: We camp, mode: always}
          - {name: long, content: "The world is wide and the hills are far away from here, they say.", mode: always}
          - 5
  - id: built
    needs: []
    call: input
    with:
      config:
        context_template:
          - {module_name: off, segments: [{type: text, value: x}], importance_func: false}
          - {module_name: on, segments: [{type: text, value: The tent is up.}]}
          - {module_name: variables, segments: [{type: variable, value: long_term_memory_content}]}
      user_input: hello
  - id: first
    needs: [chat]
    call: chat
    with: {messages: "{{ chat.messages }}"}
  - id: second
    needs: [built]
    call: chat
    with: {user: "{{ built.prompt }} hello"}
`

// TestReasonsInTheLanguageOfTheReader: a reader gets the same reasons, whichever the language of the flow.
func TestReasonsInTheLanguageOfTheReader(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	runs := map[string]string{}
	for _, language := range []string{"en", "zh"} {
		if err := os.WriteFile(filepath.Join(dir, "flows", "out-"+language+".yaml"), []byte("language: "+language+leavesOut), 0o600); err != nil {
			t.Fatal(err)
		}
		runs[language] = f.start(token, "out-"+language, `{}`)
	}
	reasons := func(flow, reader string) (told []string) {
		for _, step := range []string{"first", "second"} {
			prompts := f.do(token, "GET", "/api/v1/runs/"+runs[flow]+"/prompts?step="+step, "", "Accept-Language", reader)
			list, _ := prompts.doc.At("/prompts/0/left_out")
			for _, one := range list.List() {
				name, _ := one.Get("name")
				reason, _ := one.Get("reason")
				told = append(told, name.JSON()+" "+reason.JSON())
			}
		}
		told = append(told, f.do(token, "GET", "/api/v1/runs/"+runs[flow]+"/steps/never", "", "Accept-Language", reader).at("/reason"))
		for _, view := range []string{"brief", "state"} {
			events := f.do(token, "GET", "/api/v1/runs/"+runs[flow]+"/events?types=step.skipped,step.warning&view="+view, "", "Accept-Language", reader)
			list, _ := events.doc.Get("items")
			for _, one := range list.List() {
				data, _ := one.Get("data")
				change, _ := one.At("/change/steps")
				for _, step := range change.List() {
					reason, _ := step.Get("reason")
					told = append(told, reason.JSON())
				}
				told = append(told, data.JSON())
			}
		}
		return told
	}
	for _, reader := range []string{"en", "zh"} {
		want, other := reasons(reader, reader), reasons(map[string]string{"en": "zh", "zh": "en"}[reader], reader)
		if len(want) < 12 {
			t.Errorf("only %d reasons: %v", len(want), want)
		}
		if got := strings.Join(other, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("a reader of %s reads\n%s\nwant\n%s", reader, got, strings.Join(want, "\n"))
		}
	}
}
