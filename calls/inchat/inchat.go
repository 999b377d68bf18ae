// Package inchat is the call in-chat: it puts presets and world-book entries (lorebook entries) into a chat
// history at their depth, each message with its source.
//
// A conditional entry is included if its condition, a text of macros, gives true: for example
// <<keywords:tea,coffee>>, or <<importance:recency.is_fresh>>, which asks an importance function, built in or of a
// plugin, about the entry. Entries are sorted by order, then by role (assistant, user, the rest), then as they
// were given; entries of one depth are put as one group that many messages before the end, the deepest group
// first.
package inchat

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

var _ calls.Typed[Input] = Params{}

// Definition describes the call to the registry.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "in-chat",
		IsContained: true,
		NoSubsteps:  true,
		Summary: calls.Text{
			En: "Put presets and world-book entries into a chat history by depth, order and condition, and say where each message comes from.",
			Zh: "按 depth、order 与条件把预设和世界书条目注入聊天历史，并给出每条消息的来源。",
		},
		Literal:  []string{"presets_in_chat", "world_books"},
		Messages: []string{"history"},
		Examples: examples(),
	})
	def.Lint = lintParams
	def.Origins = origins
	def.ReadsConversation = calls.ReadsUnlessGiven("history")
	def.Composes = func(pointer string, _ value.Value) []calls.PromptPiece {
		if pointer != "/messages" {
			return nil
		}
		return []calls.PromptPiece{{Messages: "/history"}}
	}
	return def
}

func examples() []calls.Example {
	return []calls.Example{{
		Title: "A preset and a lorebook entry that the word 艾拉 triggers",
		With: `history:
  - {role: system, content: 系统开场}
  - {role: user, content: 你好艾拉}
presets_in_chat:
  - {position: in-chat, enabled: true, role: system, depth: 0, order: 98, identifier: 示例, content: 系统注入示例}
world_books:
  - - {id: 2, name: 艾拉的背景, condition: "<<keywords:艾拉,工程师>>", content: 艾拉是机械工程师, mode: conditional, position: user, depth: 0, order: 101, enabled: true}
`,
	}, {
		Title: "A condition over variables, a scan depth and a budget",
		With: `history:
  - {role: user, content: "Do you know Ella, the engineer?"}
  - {role: assistant, content: "Of course."}
  - {role: user, content: "Tell me about the capital."}
world_books:
  entries:
    "0": {id: capital, position: system, depth: 1, mode: conditional, condition: "<<keywords:capital>>", content: "The capital lies on seven hills."}
    "1": {id: ella, position: system, depth: 1, mode: conditional, condition: "<<keywords:Ella>>", content: "Ella repairs clockwork."}
    "2": {id: jealous, position: user, mode: conditional, condition: "{{python:legacy_num(getvar('mood.jealousy[0]'), 0) >= 30}}", content: "(She is jealous.)", priority: 5}
variables: {mood: {jealousy: [35, now]}}
scan_depth: 1
budget: 100
`,
	}}
}

// Init returns the parameters as they are.
func (p Params) Init(context.Context, *calls.Vars) (Input, error) { return p, nil }

// Exec puts presets and world-book entries into the history, and expands macros.
func (Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) { return injectEntries(ctx, env, in) })
}

// injectEntries is construct of the in_chat_constructor in the documents. It goes through the phases: read the history, collect the candidates,
// evaluate their conditions, keep to the budget, insert.
func injectEntries(ctx context.Context, env *calls.Env, in Input) (value.Value, error) {
	var said spoken
	isSpoken := in.History.IsNull()
	if isSpoken {
		said = spoken{env.Dialogue(ctx, env.Vars.Question), env.Vars.Question}
		in.History = said.history()
	}
	messages, err := readHistory(in.History)
	if err != nil {
		return value.Value{}, err
	}
	b := &builder{env: env}
	messages = b.repairHistory(messages)
	if isSpoken {
		said.credit(messages)
	}
	b.collectEntries(in.PresetsInChat, in.WorldBooks)
	if err := b.evaluateConditions(ctx, in); err != nil {
		return value.Value{}, err
	}
	if err := b.evaluateLore(ctx, in); err != nil {
		return value.Value{}, err
	}
	b.warnUnread(b.books)
	if err := b.applyBudget(ctx, in.Budget); err != nil {
		return value.Value{}, err
	}
	return b.buildOutput(insertEntries(messages, b.inChat())), nil
}
