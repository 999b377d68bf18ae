package builtin_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// chineseFlows are flows in Chinese whose steps ask the model, with answers that it is
// corrected for.
var chineseFlows = map[string]struct {
	flow    string
	answers []scripted.Answer
	words   []string // what the flow itself says in English
}{
	"slot": {
		`
language: zh
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: book
    call: slot
    description: 订票
    with:
      stages: [llm, function]
      summary: 用户想出行
      facts: [用户住在杭州]
      data: {unit: 件}
      current_schema:
        type: object
        description: 订票需要的参数
        required: [city, date, days, kind, mail, tags, time, seats]
        additionalProperties: false
        properties:
          city: {type: string, minLength: 2, description: 城市}
          date: {type: string, format: date}
          time: {type: string, format: time}
          days: {type: integer, minimum: 1, maximum: 9}
          kind: {enum: [高铁, 飞机]}
          mail: {type: string, format: email}
          tags: {type: array, items: {type: string}, minItems: 2, uniqueItems: true}
          seats: {type: object, required: [row], properties: {row: {type: integer}}, additionalProperties: false}
          unit: {type: string}
          note: {type: string}
    on_missing: fail
`, []scripted.Answer{
			{Text: "不知道"},
			{Text: `{"/city": 5, "/date": "某天", "/time": "某时", "/days": "很多", "/kind": "船", "/mail": "没有", "/tags": ["甲"], "/seats": {"row": "二", "列": 1}, "/另": 1, "x": 2, "/unit": "箱"}`},
			{Text: `{"/city": "杭", "/days": 99, "/tags": ["甲", "甲"], "/seats": [], "/date": "2026-02-30", "/tags/7": "乙"}`},
			{Text: `[]`}, {Text: `{"/date": 7}`},
		}, nil,
	},
	"choice": {
		`
language: zh
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: route
    call: choice
    with:
      values: {数量: 3}
      choices:
        - {branch: 退货, description: 用户要退货}
        - {branch: 其他, default: true}
`, []scripted.Answer{{Text: "不好说"}, {Text: `{"branch": "没有的"}`}, {Text: `{"reason": 5}`}}, nil,
	},
	"facts and summary": {
		`
language: zh
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: known
    call: facts
    with: {messages: [{role: user, content: 我住在杭州}, {role: assistant, content: 好的}]}
  - id: notes
    call: summary
    with: {text: 他想去上海。, instructions: 只写地点。}
  - {id: more, call: facts, with: {text: 明天出发。}}
  - {id: again, call: summary, with: {messages: [{role: user, content: 改成后天}]}}
`, []scripted.Answer{
			{Text: "没有"}, {Text: `{"facts": 5}`}, {Text: `{"facts": ["用户住在杭州"], "domain": ["出行"]}`},
			{Text: "去上海。"},
			{Text: `{"facts": ["明天出发"], "domain": 1}`}, {Text: `{"facts": ["明天出发"], "domain": []}`},
			{Text: "后天去上海。"},
		}, nil,
	},
	"context and chat": {
		`
language: zh
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: build
    call: context
    with: {current_message: "{{ inputs.question }}", channel: 网页, chat_id: "7"}
  - {id: talk, call: chat, with: {messages: "{{ build.messages }}"}}
  - id: data
    call: chat
    with: {system: 你是助手。, user: 给出数量, response_schema: {type: object, required: [数量], properties: {数量: {type: integer}}}}
`, []scripted.Answer{{Text: "好的"}, {Text: `{"数量": 3}`}}, []string{
			"Linux", "macOS", "amd64", "arm64", "Current", "Session", "Channel", "Chat", // a heading of the layout that models know
		},
	},
	"in-chat": {
		`
language: zh
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: scene
    call: in-chat
    with:
      history: [{role: user, content: 猫在哪里}]
      world_books: {entries: [{name: 猫, content: 猫叫小花。, mode: always}]}
  - {id: play, call: chat, with: {messages: "{{ scene.messages }}"}}
`, []scripted.Answer{{Text: "在家"}}, nil,
	},
	"agent": {
		`
language: zh
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: work
    call: agent
    with:
      prompt: 去看看
      workspace: home
      max_repeats: 1
      max_result_bytes: 256
      tools: {flows: [{path: order.yaml}]}
-- home/笔记.md --
笔记
-- home/skills/daily/SKILL.md --
---
name: daily
description: 写日报
---
写三句话。
-- order.yaml --
name: order
language: zh
description: 下单
inputs: {type: object, required: [物品], properties: {物品: {type: string, minLength: 2}, 数量: {type: integer}}}
steps:
  - {id: done, call: template, with: {template: "{{ 物品 }}", values: {物品: "{{ inputs.物品 }}"}}}
outputs: {text: "{{ done.text }}"}
`, []scripted.Answer{
			{ToolCalls: []llm.ToolCall{
				{ID: "1", Name: "order", Arguments: `{}`},
				{ID: "2", Name: "order", Arguments: `{"物品": "茶", "数量": "多"}`},
				{ID: "3", Name: "order", Arguments: `{"物品": `},
				{ID: "4", Name: "ordre", Arguments: `{}`},
				{ID: "5", Name: "read_file", Arguments: `{"path": "没有.md"}`},
				{ID: "6", Name: "read_file", Arguments: `{"path": "../外面"}`},
				{ID: "7", Name: "read_file", Arguments: `{"path": "."}`},
				{ID: "8", Name: "read_file", Arguments: `{"path": "笔记.md", "offset": 9}`},
				{ID: "9", Name: "read_skill", Arguments: `{"name": "没有"}`},
				{ID: "10", Name: "read_skill", Arguments: `{"name": "daily", "file": "没有"}`},
				{ID: "11", Name: "read_skill", Arguments: `{"name": "daily"}`},
			}},
			{ToolCalls: []llm.ToolCall{
				{ID: "12", Name: "order", Arguments: `{}`},
				{ID: "13", Name: "order", Arguments: `{"物品": "` + strings.Repeat("茶", 200) + `"}`},
			}},
			{Text: "好了"},
		}, []string{"order", "ordre", "daily", "text", "md"},
	},
	"memory": {
		`
language: zh
memory: {user: lin}
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: keep, call: memory-save, with: {content: 猫叫小花。}}
  - {id: sum, call: memory-snapshot, needs: [keep], with: {}}
`, []scripted.Answer{
			{Text: `{"key_points": 5}`}, {Text: `{"key_points": ["猫叫小花"], "category": "生活", "importance": 0.5}`},
			{Text: `{"category": "生活", "keywords": [1]}`},
			{Text: `{"category": "生活", "keywords": ["猫"], "description": "猫"}`},
		}, nil,
	},
	"filling": {
		`
language: zh
memory: {user: lin}
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: keep, call: memory-save, enable_filling: true}
`, []scripted.Answer{{Text: `{"/content": "猫叫小花。"}`}}, append([]string{"keep"}, memoryMembers...),
	},
	"calls as tools": {
		`
language: zh
memory: {user: lin}
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: work, call: agent, with: {prompt: 找一找, tools: {calls: [{call: memory-retrieve}, {call: memory-save}]}}}
`, []scripted.Answer{{Text: "好了"}}, append([]string{"is_user", "neighbours"}, memoryMembers...),
	},
}

// memoryMembers are names in the parameters of the calls of memory, and a piece of a time.
var memoryMembers = []string{"content", "role", "other_context", "speaker", "user_id", "session_id", "timestamp", "id", "T15"}

// sameInChinese are words of prompts that are the same in all languages: keys and terms of
// JSON and of JSON Schema, tags, the names of roles and tools.
var sameInChinese = strings.Fields(`
	JSON Schema JSON Pointer schema Pointer null context http https
	type object properties required string integer number array items enum format date time description minimum maximum minLength
	minItems uniqueItems additionalProperties email default boolean function name parameters min max const title
	branches values question instructions example tool_info tool known_arguments output summary facts now known before conversation
	memories summaries purpose optional_schema step
	city days kind mail tags unit note seats row book place day options lang get_forecast
	reason branch domain Momo key_points category importance keywords
	user assistant tool system session
	location available false true Markdown ID UTC
	MEMORY NAME SKILL YYYY MM DD memory skills md home
	read_file read_skill path offset limit file error message hint provider timeout invalid notfound missing
	ID JSON AGENTS token
`)

var englishWord = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]+`)

// The model is not told anything in English by a flow in Chinese.
func TestChinesePrompts(t *testing.T) {
	for name, c := range chineseFlows {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(c.answers...)
			store, err := sqlmemory.OpenTemporary(t.Context(), sqlmemory.FileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			r := schedulertest.Run(t, c.flow, schedulertest.With(builtin.Calls()...), schedulertest.LLM(model),
				schedulertest.Inputs(`{"question": "后天去上海"}`),
				schedulertest.Executor(func(e *scheduler.StepExecutor) {
					e.Env.Memory = memory.NewLazy(func(context.Context) (*memory.SnapshotProcessor, error) {
						return &memory.SnapshotProcessor{Store: store, Clock: e.Env.Clock}, nil
					})
				}))
			if model.Left() > 0 {
				t.Fatalf("the model was asked %d times: %v\n%s", len(model.Requests()), r.Err, r.Log())
			}
			for i, req := range model.Requests() {
				for _, text := range textsOf(t, req) {
					reportEnglish(t, i, text, c.words)
				}
			}
		})
	}
}

// textsOf returns the texts of a request: of its messages but the model's own, its tools and
// its schema.
func textsOf(t *testing.T, req *llm.Request) (texts []string) {
	t.Helper()
	for _, m := range req.Messages {
		v, err := value.ParseJSON(m)
		if err != nil {
			t.Fatal(err)
		}
		role, _ := v.Get("role")
		content, _ := v.Get("content")
		if text, ok := content.Str(); ok && !value.Equal(role, value.OfString("assistant")) {
			texts = append(texts, text)
		}
	}
	for _, tool := range append(slices.Clone(req.Tools), req.ResponseSchema) {
		texts = append(texts, descriptionsOf(tool)...)
	}
	return texts
}

// descriptionsOf returns all descriptions in a schema.
func descriptionsOf(schema json.RawMessage) (texts []string) {
	for _, found := range regexp.MustCompile(`"description":\s*("(?:[^"\\]|\\.)*")`).FindAllSubmatch(schema, -1) {
		var text string
		if json.Unmarshal(found[1], &text) == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

func reportEnglish(t *testing.T, request int, text string, allowed []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		for _, word := range englishWord.FindAllString(line, -1) {
			if !slices.Contains(sameInChinese, word) && !slices.Contains(allowed, word) {
				t.Errorf("request %d has %q in %q", request, word, strings.TrimSpace(line))
			}
		}
	}
}
