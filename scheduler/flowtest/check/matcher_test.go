package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// suiteFlow is the flow that the suite looks at: an agent with a tool, items, a flow in a step, a step that is
// skipped, memories.
const suiteFlow = `
language: en
memory: {user: Mei}
inputs: {type: object, properties: {question: {type: string}, visitor: {type: string}}}
steps:
  - {id: recall, call: memory-retrieve, needs: [], when: "{{ inputs.question == '' }}", with: {current_query: tea}}
  - {id: note, call: template, needs: [], with: {template: "{{ who }} likes green tea", values: {who: "{{ inputs.visitor }}"}}}
  - {id: each, call: template, needs: [], for_each: [a, b], with: {template: "item {{ it }}", values: {it: "{{ item }}"}}}
  - {id: sub, call: flow, needs: [], with: {path: inner.yaml, inputs: {text: "{{ inputs.question }}"}}}
  - id: clerk
    call: agent
    needs: [note, sub]
    with: {system: Be brief., prompt: "{{ inputs.question }}", tools: {calls: [{call: template, name: greet, with: {template: "hello"}}]}}
  - id: answer
    call: chat
    needs: [clerk, sub, each]
    with:
      messages:
        - {role: system, content: "You serve tea. {{ note.text }}."}
        - {role: user, content: "{{ inputs.question }} Twice: {{ inputs.question | upper }}"}
outputs: {reply: "{{ answer.text }}", number: 7, data: {city: Paris, days: [1, 2]}, json: '{"a": 1}'}
-- inner.yaml --
inputs: {type: object, properties: {text: {type: string}}}
steps:
  - {id: ask, call: chat, with: {messages: [{role: user, content: "Inner: {{ inputs.text }}"}]}}
outputs: {said: "{{ ask.text }}"}
`

// judgeStub answers as each judge's prompt wants it: yes if the text has green in it.
type judgeStub struct{ *scripted.Provider }

func (judgeStub) Embedder(string, int) llm.Embedder { return letterEmbedder{} }

// letterEmbedder counts letters.
type letterEmbedder struct{}

func (letterEmbedder) Model() string { return "letters" }

func (letterEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, text := range texts {
		all[i] = make([]float32, 26)
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				all[i][r-'a']++
			}
		}
	}
	return all, nil
}

// memorySnapshots keeps snapshots in memory.
type memorySnapshots map[string]string

func (s memorySnapshots) Load(name string) (string, bool) { text, ok := s[name]; return text, ok }
func (s memorySnapshots) Save(string, string, flow.Position) (bool, error) {
	return false, nil
}

// suiteEvidence runs the flow of the suite. Results of retrieval are written into the record: checks do not look
// at its store.
func suiteEvidence(t *testing.T) *Evidence {
	t.Helper()
	inputs := value.OfMap(value.Pairs("question", "which tea is best?", "visitor", "Mei"))
	usage := &llm.Usage{InputTokens: 10, OutputTokens: 2}
	e := runText(t, suiteFlow, inputs,
		scripted.Answer{Text: "inner answer", Usage: usage},
		scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "greet", Arguments: `{"values": {"name": "Mei"}}`}}, Usage: usage},
		scripted.Answer{Text: "I greeted.", Usage: usage},
		scripted.Answer{Text: "Green tea, Mei.", Usage: usage})
	if e.Record.State != journal.RunFinished {
		t.Fatalf("the run is %s: %+v", e.Record.State, e.Record.Error)
	}
	found, err := value.ParseJSON([]byte(`{"relevant_memories": [{"memory_id": "m1"}, {"memory_id": "m2"}, {"memory_id": "m3"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	e.Record.Add(&journal.Event{Seq: 10_001, Type: journal.StepStarted, Step: "recall", Data: &journal.Data{Call: "memory-retrieve"}})
	e.Record.Add(&journal.Event{Seq: 10_002, Type: journal.StepFinished, Step: "recall", Data: &journal.Data{Output: &found}})
	e.Record.Add(&journal.Event{Seq: 10_003, Type: journal.FlowFinished, Data: &journal.Data{Outputs: &e.Record.Outputs}})
	e.Row = value.OfMap(value.Pairs("want", "Green"))
	registry, err := calls.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(registry.AddTestCheck("tea.names", plugins.ImportanceFunc(namesTea)), registry.AddTestCheck("tea.fails", plugins.ImportanceFunc(fails))); err != nil {
		t.Fatal(err)
	}
	e.Services.Registry = registry
	ms := 12.0
	e.MS, e.PriceKnown = &ms, true
	e.Services.Snapshots = memorySnapshots{"a case: output number": "7\n", "a case: output reply": "Black tea.\n"}
	e.Services.Provider = func(name string) (llm.Provider, error) {
		if name == "none" {
			return nil, errors.New("no such provider")
		}
		return judgeStub{scripted.Texts(strings.Split(name, "|")...)}, nil
	}
	e.Other = func(_ context.Context, need Need) (*Evidence, error) {
		if need.Case == "alone" {
			return nil, errors.New("it did not run")
		}
		return e, nil
	}
	return e
}

// namesTea passes if the text contains the value of the item.
func namesTea(_ context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
	data, err := value.ParseJSON(item.Data)
	given, _ := data.Get("value")
	with, _ := data.Get("with")
	if err != nil || textOf(given) != item.Text {
		return plugins.Verdict{}, errors.Join(err, errors.New("text and value differ"))
	}
	return plugins.Verdict{Include: strings.Contains(item.Text, textOf(with)), Reason: "it has no " + textOf(with)}, nil
}

func fails(context.Context, plugins.State, plugins.Item) (plugins.Verdict, error) {
	return plugins.Verdict{}, errors.New("it crashed")
}

// suite has for each matcher, by its name and subject, items that pass, fail, cannot be decided (error), and those that
// Parse refuses (wrong), with a word of the problem in quotes.
var suite = map[string]string{
	"output contains": `
		pass {output: reply, contains: "{{ row.want }}"}
		pass {output: reply, contains: green, fold: true}
		fail {output: reply, contains: green}
		fail {output: data.below, contains: green}
		wrong {output: nothing, contains: green} 'no output'
		error {output: reply, contains: "{{ row.missing }}"}
		wrong {output: reply, contains: ""} 'empty'
		wrong {output: reply, contains: [a]} 'string'
		wrong {output: reply, contains: "{{ row.want"} ''
		wrong {output: replay, contains: x} 'reply'
		wrong {output: reply, containz: x} 'contains'
		wrong {outputs: reply, contains: x} 'output'
		wrong {output: reply, contains: a, fold: yes please} 'boolean'
		wrong {output: reply, equals: a, fold: true} 'contains'`,
	"output contains_all": `
		pass {output: reply, contains_all: [Green, Mei]}
		fail {output: reply, contains_all: [Green, black]}
		wrong {output: reply, contains_all: []} 'empty'`,
	"output contains_any": `
		pass {output: reply, contains_any: [black, Mei]}
		fail {output: reply, contains_any: [black, white]}
		wrong {output: reply, contains_any: x} 'array'`,
	"output starts_with": `
		pass {output: reply, starts_with: Green}
		fail {output: reply, starts_with: tea}
		wrong {output: reply, starts_with: ""} 'empty'`,
	"output matches": `
		pass {output: reply, matches: "^Green .*Mei\\.$"}
		fail {output: reply, matches: "^Mei"}
		wrong {output: reply, matches: "(?=a)"} 'regular expression'`,
	"output words": `
		pass {output: reply, words: 3}
		pass {output: reply, words: {min: 2, max: 4}}
		fail {output: reply, words: {max: 2}}
		wrong {output: reply, words: many} ''`,
	"output equals": `
		pass {output: number, equals: 7}
		pass {output: data, equals: {city: Paris, days: [1, 2]}}
		pass {output: reply, equals: !raw "Green tea, Mei."}
		pass {output: number, equals: "{{ '7' }}"}
		fail {output: number, not: {equals: "7"}}
		pass {step: answer, equals: "Green tea, Mei."}
		fail {output: number, equals: "7"}
		fail {output: number, equals: !raw "7"}
		fail {output: data.days, equals: "[1,2]"}
		fail {output: data, equals: '{"city":"Paris","days":[1,2]}'}
		fail {output: number, equals: 8}
		fail {output: data, equals: {city: Paris}}
		error {output: number, equals: "{{ 1 / 0 }}"}
		wrong {output: number, equals: "{{ unknown }}"} 'unknown'`,
	"output json": `
		pass {output: data, json: {city: Paris}}
		pass {output: json, json: {a: 1}}
		fail {output: data, json: {city: Rome}}
		fail {output: data, json: {days: [1]}}
		fail {output: reply, json: {a: 1}}
		fail {output: reply, not: {json: {a: 1}}}
		pass {output: data, not: {json: {city: Rome}}}
		wrong {output: data, json: {a: "{{"}} ''`,
	"output schema": `
		pass {output: data, schema: {type: object, required: [city]}}
		pass {output: json, schema: {type: object, required: [a]}}
		fail {output: data, schema: {type: object, required: [country]}}
		wrong {output: data, schema: {type: objct}} 'JSON Schema'
		wrong {output: data, schema: {type: object, requird: [a]}} 'required'`,
	"output min": `
		pass {output: number, min: 7}
		fail {output: number, min: 7.5}
		fail {output: reply, min: 1}
		fail {output: reply, not: {min: 1}}
		pass {output: number, not: {min: 7.5}}
		wrong {output: number, min: seven} 'number'`,
	"output max": `
		pass {output: number, max: 7}
		fail {output: number, max: 6}
		fail {output: reply, not: {max: 5}}
		fail {output: data, not: {max: 5}}
		pass {output: number, not: {max: 6}}
		wrong {output: number, max: [1]} 'number'`,
	"output that": `
		pass {output: number, that: "{{ value > 6 }}"}
		pass {that: "steps.note.text is defined and outputs.number == 7"}
		pass {that: "{{ run.state == 'finished' }}"}
		pass {prompt: answer, that: "{{ prompt.messages | length == 2 }}"}
		fail {output: number, that: "{{ value > 7 }}"}
		error {that: "{{ outputs.nothing > 1 }}"}
		wrong {that: "{{ outpust.number }}"} 'outputs'
		wrong {that: "{{ steps.not.text }}"} 'note'
		wrong {that: "{{ outputs.number }} > 3"} 'one expression'
		wrong {that: "'x'"} 'names nothing'
		wrong {that: true} 'names nothing'
		error {that: "{{ outputs.reply }}"}
		error {output: reply, not: {that: value}}
		error {output: number, that: value}
		error {output: number, not: {that: "{{ value - 7 }}"}}
		error {output: data, that: "{{ value }}"}
		error {that: "{{ outputs.data.nothing | default(none) }}"}
		wrong {that: "{{ value == 7 }}"} 'no subject'
		wrong {output: number, that: "{{ prompt is defined }}"} 'prompt: STEP'
		wrong {that: "{{ 1 + }}"} ''`,
	"output levenshtein": `
		pass {output: reply, levenshtein: {to: "Green tea, May.", max: 2}}
		fail {output: reply, levenshtein: {to: "Green tea, May.", max: 1}}
		fail {output: reply, levenshtein: {to: "Black", min: 0.9}}
		wrong {output: reply, levenshtein: {to: x}} 'bound'`,
	"output rouge_l": `
		pass {output: reply, rouge_l: {to: "green tea for Mei", min: 0.8}}
		fail {output: reply, rouge_l: {to: "black coffee", min: 0.1}}
		wrong {output: reply, rouge_l: {to: "...", min: 0.5}} 'words'`,
	"output similar": `
		pass {output: reply, similar: {to: ["xyz", "tea green mei"], min: 0.99}}
		fail {output: reply, similar: {to: "xyz", min: 0.5}}
		error {output: reply, similar: {to: "xyz", min: 0.5, llm: none}}
		wrong {output: reply, similar: {to: "xyz", min: 0.5, llm: "a,b"}} 'embeddings come from one provider'
		wrong {output: reply, similar: {to: "xyz"}} 'min'`,
	"output judge": `
		pass {output: reply, judge: {criteria: [Names a tea], llm: '{"criteria": [{"reason": "green", "met": true}]}'}}
		pass {output: reply, judge: {criteria: [a, b], min: 0.5, llm: '{"criteria": [{"reason": "r", "met": true}, {"reason": "r", "met": false}]}'}}
		pass {output: reply, judge: {criteria: [a], llm: 'nonsense|{"criteria": [{"reason": "r", "met": true}]}'}}
		pass {output: reply, judge: {rubric: "Is it warm?", min: 0.7, llm: '{"reason": "r", "grade": 7}'}}
		fail {output: reply, judge: {rubric: "Is it warm?", min: 0.7, llm: '{"reason": "r", "grade": 6}'}}
		fail {output: reply, judge: {criteria: [a], llm: '{"criteria": [{"reason": "r", "met": false}]}'}}
		fail {output: reply, judge: {criteria: [a], runs: 2, llm: '{"criteria": [{"reason": "r", "met": true}]}|{"criteria": [{"reason": "r", "met": false}]}'}}
		pass {output: reply, judge: {preset: refusal, min: 0.5, llm: '{"criteria": [{"reason": "r", "met": true}, {"reason": "r", "met": false}]}'}}
		error {output: reply, judge: {criteria: [a], llm: 'nonsense|more nonsense'}}
		error {output: reply, judge: {criteria: [a], llm: '{"criteria": [{"reason": "...", "met": true}]}'}}
		error {output: reply, judge: {rubric: warm, min: 0.5, llm: '{"reason": "...", "grade": 7}'}}
		error {output: reply, judge: {criteria: [a, b], llm: '{"criteria": [{"reason": "r", "met": true}]}|{"criteria": []}'}}
		error {output: reply, judge: {criteria: [a], llm: none}}
		error {output: reply, not: {judge: {criteria: [a], llm: none}}}
		wrong {output: reply, judge: {min: 1}} 'criteria'
		wrong {output: reply, judge: {rubric: warm}} 'min'
		wrong {output: reply, judge: {preset: correctness}} 'reference'
		wrong {output: reply, judge: {preset: refusals}} 'refusal'`,
	"output grounded": `
		pass {output: reply, grounded: {kinds: [step], llm: '{"claims": [{"claim": "c", "reason": "r", "source": 1}]}'}}
		fail {output: reply, grounded: {kinds: [step], llm: '{"claims": [{"claim": "c", "reason": "r", "source": 0}]}'}}
		fail {output: reply, grounded: {kinds: [step], llm: '{"claims": [{"claim": "c", "reason": "r", "source": 99}]}'}}
		fail {output: reply, grounded: {kinds: [world_book]}}
		error {output: reply, grounded: {kinds: [step], llm: 'no|no'}}
		error {output: reply, grounded: {kinds: [step], llm: '{"claims": [{"claim": "...", "reason": "...", "source": 1}]}'}}
		error {output: reply, grounded: {kinds: [step], llm: '{"claims": []}'}}
		wrong {output: reply, grounded: {kinds: []}} ''
		wrong {output: reply, grounded: {kinds: [file], in: answr}} 'answer'`,
	"output prefer": `
		pass {output: reply, prefer: {over: b.yaml, criteria: [warm], llm: '{"reason": "r", "better": "first"}|{"reason": "r", "better": "second"}'}}
		pass {output: reply, prefer: {over: b.yaml, criteria: [warm], llm: '{"reason": "r", "better": "first"}|{"reason": "r", "better": "first"}'}}
		fail {output: reply, prefer: {over: b.yaml, criteria: [warm], min: 1, llm: '{"reason": "r", "better": "first"}|{"reason": "r", "better": "first"}'}}
		fail {output: reply, prefer: {over: b.yaml, criteria: [warm], llm: '{"reason": "r", "better": "second"}|{"reason": "r", "better": "first"}'}}
		wrong {output: reply, prefer: {over: b.yaml}} 'criteria'`,
	"output snapshot": `
		pass {output: number, snapshot: true}
		fail {output: reply, snapshot: true}
		error {output: data, snapshot: true}
		wrong {output: reply, not: {snapshot: true}} 'not'`,
	"step equals": `
		pass {step: note.text, equals: Mei likes green tea}
		pass {step: "each[1].text", equals: item b}
		pass {step: sub/ask.text, equals: inner answer}
		pass {step: "each[0]:/text", equals: item a}
		fail {step: each, equals: []}
		fail {step: note.nothing, equals: a}
		wrong {step: nte.text, equals: a} 'note'
		wrong {step: sub/aks.text, equals: a} 'ask'
		wrong {step: "note.a[x]", equals: a} 'path'`,
	"prompt includes": `
		pass {prompt: answer, includes: {source: inputs.question}, in: {role: user, message: -1}}
		pass {prompt: sub/ask, includes: {kind: input, name: inputs.question}}
		fail {prompt: answer, includes: {source: inputs.question}, in: {role: system}}
		fail {prompt: answer, includes: {kind: file}}
		fail {prompt: answer, includes: {source: inputs.question, min_tokens: 500}}
		wrong {prompt: answer, includes: {}} 'piece'
		wrong {prompt: answer, includes: {source: inputs.qestion}} 'question'
		wrong {prompt: answer, includes: {knd: file}} 'kind'
		wrong {prompt: answr, includes: {kind: file}} 'answer'
		wrong {prompt: answer, contains: x, in: {role: user}} 'includes'`,
	"prompt leaves_out": `
		fail {prompt: answer, leaves_out: {source: inputs.question}}
		fail {prompt: answer, leaves_out: {kind: file, name: x}}
		wrong {prompt: answer, leaves_out: {kind: file}, because: "("} 'regular expression'`,
	"prompt order": `
		pass {prompt: answer, order: [{source: inputs.visitor}, {source: inputs.question}]}
		fail {prompt: answer, order: [{source: inputs.question}, {source: inputs.visitor}]}
		fail {prompt: answer, order: [{source: inputs.visitor}, {kind: file}]}
		wrong {prompt: answer, order: [{kind: file}]} 'two'`,
	"prompt tokens": `
		pass {prompt: answer, tokens: {max: 100, min: 5}}
		pass {prompt: answer, tokens: {of: {source: inputs.question}, share: 0.9}}
		fail {prompt: answer, tokens: {min: 1000}}
		fail {prompt: answer, tokens: {of: {source: inputs.question}, share: 0.1}}
		wrong {prompt: answer, tokens: {of: {kind: file}}} 'bound'
		wrong {prompt: answer, tokens: {share: 0.5}} 'pieces'`,
	"prompt text": `
		pass {prompt: answer, text: Mei, comes_from: {source: inputs.visitor}, in: {role: system}}
		fail {prompt: answer, text: Mei, in: {role: user}}
		fail {prompt: answer, text: Mei likes, comes_from: {source: inputs.visitor}}
		fail {prompt: answer, text: Anna}
		wrong {prompt: answer, text: Mei, comes_from: {}} 'piece'`,
	"prompt confined": `
		pass {prompt: answer, confined: {source: inputs.question, roles: [user]}}
		pass {prompt: clerk, confined: {source: "inputs.*", roles: [user, tool]}}
		fail {prompt: answer, confined: {source: inputs.question, roles: [system]}}
		fail {prompt: answer, confined: {source: inputs.visitor, roles: [user]}}
		wrong {prompt: answer, confined: {source: htpp, roles: [user]}} 'http'
		wrong {prompt: answer, confined: {source: inputs.nothing, roles: [user]}} 'input'
		wrong {prompt: answer, confined: {source: inputs.question}} 'roles'`,
	"prompt stable_prefix": `
		pass {prompt: answer, stable_prefix: {with: other, min_tokens: 5}}
		fail {prompt: answer, stable_prefix: {with: other, min_tokens: 5000}}
		error {prompt: answer, stable_prefix: {with: alone, min_tokens: 5}}
		wrong {prompt: answer, stable_prefix: {with: othr, min_tokens: 5}} 'other'`,
	"event count": `
		pass {event: step.finished, step: note, count: 1}
		fail {event: step.failed, count: {min: 1}}
		wrong {event: step.fnished, count: 1} 'step.finished'
		wrong {event: step.finished, step: nte, count: 1} 'note'`,
	"event before": `
		pass {event: step.finished, step: note, before: {event: step.started, step: answer}}
		fail {event: step.finished, step: answer, before: {event: step.started, step: note}}
		fail {event: step.failed, before: flow.finished}
		wrong {event: step.finished, before: {event: step.started, step: answr}} 'answer'
		wrong {event: step.finished, before: step.strted} 'step.started'`,
	"event data": `
		pass {event: step.started, step: note, data: {call: template}}
		fail {event: step.started, step: note, data: {call: chat}}
		wrong {event: step.started, data: x} 'map'`,
	"tools used": `
		pass {tools: clerk, used: [greet]}
		fail {tools: clerk, used: [greet, search]}
		error {tools: note, used: [greet]}
		wrong {tools: clerk, used: greet} 'array'
		wrong {tools: clerk, used: [greet, gret]} '1:30: the step clerk has no tool "gret"'
		wrong {tools: clerk, not: {used: [gret]}} '1:29: the step clerk has no tool "gret"'
		wrong {tools: clrk, used: [greet]} 'clerk'`,
	"tools sequence": `
		pass {tools: clerk, sequence: [greet]}
		fail {tools: clerk, sequence: [greet, greet]}
		wrong {tools: clerk, not: {sequence: [gret]}} 'greet'
		wrong {tools: clerk, sequence: []} 'empty'`,
	"tools args": `
		pass {tools: clerk, args: {greet: {type: object, required: [values]}}}
		fail {tools: clerk, args: {greet: {type: object, required: [name]}}}
		fail {tools: clerk, args: {search: {type: object}}}
		wrong {tools: clerk, not: {args: {gret: {type: object}}}} '1:35: the step clerk has no tool "gret"'
		wrong {tools: clerk, args: {greet: {type: objekt}}} 'JSON Schema'`,
	"tools none_of": `
		pass {tools: clerk, none_of: [search]}
		fail {tools: clerk, none_of: [greet]}
		wrong {tools: clerk, none_of: [gret]} 'did you mean "greet"'
		wrong {tools: clerk, none_of: []} 'empty'`,
	"retrieved recall_at": `
		pass {retrieved: recall, recall_at: {k: 2, min: 0.5}, relevant: [m1, m9]}
		fail {retrieved: recall, recall_at: {k: 1}, relevant: [m1, m2]}
		error {retrieved: note, recall_at: {k: 1}, relevant: [m1]}
		wrong {retrieved: recall, recall_at: {k: 2}} 'relevant'`,
	"retrieved mrr": `
		pass {retrieved: recall, mrr: 0.5, relevant: [m2]}
		fail {retrieved: recall, mrr: {min: 0.5}, relevant: [m3]}
		wrong {retrieved: recall, mrr: 2, relevant: [m3]} ''`,
	"retrieved ndcg": `
		pass {retrieved: recall, ndcg: {k: 3, min: 0.99}, relevant: {m1: 3, m2: 2, m3: 1}}
		fail {retrieved: recall, ndcg: {k: 3, min: 0.99}, relevant: {m1: 1, m2: 2, m3: 3}}
		wrong {retrieved: recall, ndcg: {k: 0}, relevant: [m1]} ''`,
	"output plugin": `
		pass {output: reply, plugin: tea.names, with: Green}
		fail {output: reply, plugin: tea.names, with: Black}
		pass {run: {plugin: tea.names, with: '"state":"finished"'}}
		pass {tools: clerk, plugin: tea.names, with: '"name":"greet"'}
		pass {event: step.finished, step: note, plugin: tea.names, with: '"step":"note"'}
		pass {retrieved: recall, plugin: tea.names, with: '"m1"'}
		error {output: reply, plugin: tea.fails}
		wrong {output: reply, plugin: tea.name} 'tea.names'
		wrong {output: reply, contains: a, with: a} 'plugin'`,
	"run state": `
		pass {run: finished}
		pass {run: {state: finished, tokens: {max: 1000}}}
		fail {run: failed}
		wrong {run: finishd} 'finished'
		wrong {run: [a]} 'map'`,
	"run waits_for": `
		fail {run: {waits_for: /city}}
		wrong {run: {waits_for: "answr:/city"}} 'answer'
		wrong {run: {waits_for: city}} 'pointer'`,
	"run error": `
		fail {run: {error: {kind: budget}}}
		wrong {run: {error: {step: answr}}} 'answer'
		wrong {run: {error: {kind: budgt}}} 'budget'
		wrong {run: {error: {matches: "("}}} 'regular expression'`,
	"run warnings": `
		pass {run: {warnings: 0}}
		fail {run: {warnings: {min: 1}}}
		wrong {run: {warnings: {min: 2, max: 1}}} 'at most 1'
		wrong {run: {warnings: none}} ''`,
	"run tokens": `
		pass {run: {tokens: {max: 48, min: 48}}}
		fail {run: {tokens: 47}}
		wrong {run: {tokens: {min: 5, max: 2}}} 'at most 2'
		wrong {run: {tokens: {mx: 1}}} ''`,
	"run cost": `
		pass {run: {cost: 0.1}}
		fail {run: {cost: {min: 0.1}}}
		wrong {run: {cost: free}} ''`,
	"run ms": `
		pass {run: {ms: {max: 12}}}
		fail {run: {ms: 11}}
		wrong {run: {ms: soon}} ''`,
}

func TestSuite(t *testing.T) {
	e := suiteEvidence(t)
	scope := &Scope{File: "a.test.yaml", Flows: []*flow.Flow{e.Flow}, Cases: []string{"other", "alone"}, PluginChecks: []string{"tea.names", "tea.fails"}}
	for name, lines := range suite {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			for line := range strings.Lines(lines) {
				want, item, ok := strings.Cut(strings.TrimSpace(line), " ")
				if !ok {
					continue
				}
				if want == "wrong" {
					end := strings.LastIndexByte(strings.TrimSuffix(item, "'"), '\'')
					expectProblem(t, scope, strings.TrimSpace(item[:end]), strings.Trim(item[end:], "'"))
					continue
				}
				expectFound(t, e, scope, want, item)
			}
		})
	}
}

// expectFound evaluates an item in both languages.
func expectFound(t *testing.T, e *Evidence, scope *Scope, want, item string) {
	t.Helper()
	c := parseItem(t, item, scope)
	messages := map[string]string{}
	for _, language := range []string{"en", "zh"} {
		e.Language = language
		found := c.Evaluate(context.Background(), e)
		if string(found.Outcome) != want {
			t.Errorf("%s: %s, not %s: %s", item, found.Outcome, want, found.Message)
			return
		}
		if hasMessage := found.Message != ""; hasMessage == (want == "pass") {
			t.Errorf("%s: %s with the message %q", item, want, found.Message)
		}
		messages[language] = found.Message
	}
	if want == "fail" && messages["en"] == messages["zh"] && !strings.Contains(item, "judge") {
		t.Errorf("%s: no Chinese for %q", item, messages["en"])
	}
}

// expectProblem parses an item that is wrong: the problem, or its hint, has a word in it.
func expectProblem(t *testing.T, scope *Scope, item, word string) {
	t.Helper()
	c, problems := tryParse(t, item, scope)
	if c != nil || len(problems) == 0 {
		t.Errorf("%s is taken", item)
		return
	}
	if text := problems.Error(); !strings.Contains(text, word) || !strings.HasPrefix(text, "a.test.yaml:1:") {
		t.Errorf("%s: want %q in %q", item, word, text)
	}
	if en, zh := problems.In("en"), problems.In("zh"); en == zh && wording.IsChinese("zh") {
		t.Errorf("%s: no Chinese for %q", item, en)
	}
}

// Every matcher is in the suite, with an item that passes, one that fails and one that is refused.
func TestSuiteHasEveryMatcher(t *testing.T) {
	for _, m := range matchers() {
		if len(m.doc.En) == 0 || len(m.doc.Zh) == 0 {
			t.Errorf("%s has no documentation", m.name)
		}
		key := fmt.Sprintf("%s %s", m.on[0], m.name)
		if m.name == "that" {
			key = "output that"
		}
		lines, ok := suite[key]
		if !ok {
			t.Errorf("the suite has no %q", key)
		}
		for _, outcome := range []string{"pass", "fail", "wrong"} {
			if elsewhere := slices.Contains(outsideSuite, key+": "+outcome); !elsewhere && !strings.Contains(lines, "\n\t\t"+outcome+" ") {
				t.Errorf("the suite has nothing of %q that is %s", key, outcome)
			}
		}
	}
}

// outsideSuite lists cases that other tests cover: runs that fail or wait, and left-out parts.
var outsideSuite = []string{
	"run waits_for: pass", "run error: pass", "prompt leaves_out: pass",
}

// The score of a check is the lowest of its matchers; the figures are worked out by hand.
func TestScores(t *testing.T) {
	e := suiteEvidence(t)
	for item, want := range map[string]float64{
		`{output: reply, rouge_l: {to: "green tea for Mei", min: 0.1}}`:                                                             6.0 / 7,
		`{output: reply, levenshtein: {to: "Green tea, May.", max: 9}}`:                                                             1 - 2.0/15,
		`{output: reply, rouge_l: {to: "green", min: 0.01}, levenshtein: {to: "Green tea, May.", max: 9}}`:                          0.5,
		`{retrieved: recall, ndcg: {k: 2, min: 0.01}, relevant: {m2: 1, m3: 1}}`:                                                    0.38685280723454163,
		`{retrieved: recall, mrr: 0.1, relevant: [m2]}`:                                                                             0.5,
		`{retrieved: recall, recall_at: {k: 2, min: 0.1}, relevant: [m1, m2, m7]}`:                                                  2.0 / 3,
		`{output: reply, judge: {rubric: warm, min: 0.1, llm: '{"reason": "r", "grade": 7}'}}`:                                      0.7,
		`{output: reply, judge: {rubric: warm, min: 0.1, runs: 2, llm: '{"reason": "r", "grade": 7}|{"reason": "r", "grade": 8}'}}`: 0.75,
	} {
		found := parseItem(t, item, &Scope{}).Evaluate(context.Background(), e)
		if found.Score == nil || *found.Score < want-1e-9 || *found.Score > want+1e-9 {
			t.Errorf("%s: %v, not %v (%s)", item, found.Score, want, found.Message)
		}
	}
}
