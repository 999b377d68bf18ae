// Package facts is the call that extracts facts from a conversation for later use. Later steps see its list as
// facts. For example, from "I am Lin and vegetarian" it may take "The user is called Lin" and "Lin is vegetarian".
package facts

import (
	"context"
	"embed"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed lang/en lang/zh
var texts embed.FS

// Params are the parameters of the call.
type Params struct {
	ask.Source
	Known       []string `json:"known,omitempty" doc:"Facts that are known already; they stay, before the new ones. Default: the facts of the run so far."`
	Limit       int      `json:"limit,omitempty" default:"20" min:"1" max:"200" doc:"How many new facts at the most."`
	Domains     []string `json:"domains,omitempty" doc:"The domains that a conversation may belong to. Without them the model names its own." example:"[travel, food]"`
	Model       string   `json:"model,omitempty" doc:"The model to ask; the provider's setting where it is not given." example:"some-model"`
	Temperature *float64 `json:"temperature,omitempty" min:"0" max:"2" doc:"How freely the model chooses its words; the provider's setting where it is not given." example:"0"`
}

// Input is the text to read.
type Input struct {
	Lines []ask.Line `json:"lines"`
	Known []string   `json:"known"`
}

// Output has the facts known now.
type Output struct {
	Facts  []string `json:"facts" doc:"All facts, those known before first. No two are the same."`
	Domain []string `json:"domain" doc:"What the conversation is about, in keywords."`
	Added  []string `json:"added" doc:"The new ones among the facts."`
}

// Definition returns the call facts as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "facts",
		Provides:    "facts",
		IsContained: true,
		NoSubsteps:  true,
		Messages:    []string{"messages"},
		Summary: calls.Text{
			En: "Take the facts worth keeping out of a conversation, a text or the steps before; later steps see them as facts.",
			Zh: "从对话、文本或之前的步骤中提取值得记住的事实；后面的步骤可用 facts 引用。",
		},
		UsesLLM: true,
		Examples: []calls.Example{{
			Title: "A conversation",
			With: `messages:
  - {role: user, content: "I am Ann, and I cannot eat nuts. What do you have?"}
  - {role: assistant, content: Rye bread and plum cake.}
known: [The user lives in Lyon.]
`,
			Answers: []string{`{"facts": ["The user's name is Ann.", "The user cannot eat nuts."], "domain": ["food"]}`},
		}},
	})
	def.Info.Check = ask.CheckSource
	def.ReadsConversation = calls.ReadsUnlessGiven("text", "messages")
	def.Texts = []calls.Texts{ask.Texts("facts", texts), ask.RetryTexts()}
	def.Origins = origins
	return def
}

// origins returns the origins of the input, and of the facts that were known before.
func origins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	var p Params
	if value.Decode(of.Params, &p) != nil {
		return nil
	}
	if lines, ok := strings.CutPrefix(pointer, "/input/lines"); ok {
		return p.InputOrigins(of, lines)
	}
	if number, ok := strings.CutPrefix(pointer, "/input/known/"); ok {
		return p.knownOrigins(number, 0)
	}
	at, ok := strings.CutPrefix(pointer, "/output/facts/")
	number, err := strconv.Atoi(at)
	var in Input
	if !ok || err != nil || value.Decode(of.Input, &in) != nil {
		return nil
	}
	for i, fact := range in.Known {
		if len(mergeUnique(nil, in.Known[:i+1])) <= number {
			continue
		}
		known := p.knownOrigins(strconv.Itoa(i), len(fact))
		return calls.Traced{Text: fact, Origins: known}.TrimSpace().Origins
	}
	return nil
}

// knownOrigins returns the origins of size bytes of a fact that was known before; of all of it, if size is 0.
func (p Params) knownOrigins(number string, size int) []calls.Origin {
	if p.Known != nil {
		return []calls.Origin{{End: size, Pointer: "/known/" + number}}
	}
	return []calls.Origin{{End: size, Kind: calls.OriginName, Name: "facts", Pointer: "/" + number}}
}

// Init gathers the text to read.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	in := Input{Lines: p.Lines(vars), Known: p.Known}
	if in.Known == nil {
		in.Known = vars.Facts()
	}
	return in, nil
}

// Exec asks the model; if there is no text, there are no new facts.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out := &Output{Facts: mergeUnique(nil, in.Known), Domain: []string{}, Added: []string{}}
		lines := p.AllLines(ctx, env)
		if len(lines) == 0 {
			return out, nil
		}
		s, err := p.answerSchema()
		if err != nil {
			return nil, err
		}
		req, parts, err := p.newRequest(ctx, env, in, lines)
		if err != nil {
			return nil, err
		}
		answer, err := ask.JSON(calls.WithParts(ctx, parts), env, req, s, nil)
		if err != nil {
			return nil, err
		}
		var found Output
		if err := value.Decode(answer, &found); err != nil {
			return nil, calls.Errorf(calls.Internal, "reading the facts: %w", err)
		}
		known := len(out.Facts)
		out.Facts = mergeUnique(out.Facts, found.Facts)
		out.Facts = out.Facts[:min(len(out.Facts), known+p.Limit)]
		out.Added = append(out.Added, out.Facts[known:]...)
		out.Domain = mergeUnique(out.Domain, found.Domain)
		return out, nil
	})
}

// mergeUnique appends the texts that are not there yet. Case, white space and the stop
// at the end make no difference.
func mergeUnique(list, more []string) []string {
	plain := func(s string) string {
		return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".。!！")
	}
	all := make([]string, len(list), len(list)+len(more))
	seen := make(map[string]bool, cap(all))
	for i, s := range list {
		all[i], seen[plain(s)] = s, true
	}
	for _, s := range more {
		if key := plain(s); key != "" && !seen[key] {
			seen[key] = true
			all = append(all, strings.TrimSpace(s))
		}
	}
	return all
}

// newRequest returns the request for the model.
func (p Params) newRequest(ctx context.Context, env *calls.Env, in Input, lines []ask.TracedLine) (*llm.Request, []calls.Part, error) {
	talk, left := p.FormatNewest(env, lines, "conversation")
	known := make([]calls.Traced, len(in.Known))
	for i, fact := range in.Known {
		known[i] = calls.TracedName("facts", "/"+strconv.Itoa(i), fact)
		if p.Known != nil {
			known[i] = calls.TracedParam("/known/"+strconv.Itoa(i), fact)
		}
		known[i] = ask.EscapeElement(known[i].Fields(), "known")
	}
	domains := make([]calls.Traced, len(p.Domains))
	for i, domain := range p.Domains {
		domains[i] = calls.TracedParam("/domains/"+strconv.Itoa(i), domain)
	}
	values := ask.NewValues("left", left, "limit", p.Limit)
	values.Trace("limit", calls.TracedParam("/limit", strconv.Itoa(p.Limit)))
	values.Put("conversation", talk)
	values.PutList("known", known)
	values.PutList("domains", domains)
	text, parts, err := ask.TracedPrompt(ctx, env, "facts", texts, "facts", values)
	if err != nil {
		return nil, nil, err
	}
	return &llm.Request{Model: p.Model, Temperature: p.Temperature, Messages: []llm.Message{llm.TextMessage("user", text)}}, parts, nil
}

// answerSchema returns the schema of the model's answer. The number of facts is bounded afterwards: one too many
// is not a reason to ask again.
func (p Params) answerSchema() (*schema.Schema, error) {
	domain := value.Pairs("type", "string")
	if len(p.Domains) > 0 {
		domain.Set("enum", value.Must(slices.Compact(slices.Sorted(slices.Values(p.Domains)))))
	}
	s, err := schema.Parse(value.OfMap(value.Pairs(
		"type", "object",
		"properties", value.Pairs(
			"facts", value.Pairs("type", "array", "items", value.Pairs("type", "string")),
			"domain", value.Pairs("type", "array", "items", domain),
		),
		"required", []string{"facts", "domain"},
		"additionalProperties", false,
	)))
	if err != nil {
		return nil, wording.Errorf("making the schema of the answer: %w", err)
	}
	return s, nil
}
