package check

import (
	"context"
	"math"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// modelMatchers lists the matchers that ask a model.
func modelMatchers() []matcher {
	return []matcher{
		define("similar", wording.Text{En: "The meaning is near that of a text: the cosine of their embeddings is at least min.", Zh: "含义与某文本相近：两者嵌入的余弦不小于 min。"}, textSubjects, buildSimilar),
		define("judge", wording.Text{En: "A model finds that the text meets the criteria, or the rubric.", Zh: "模型认为文本符合标准或评分细则。"}, textSubjects, buildJudge),
		define("grounded", wording.Text{En: "Each claim of the text is supported by a piece of the prompt of these kinds.", Zh: "文本的每条论断都有提示词中这些种类的片段支持。"}, dataSubjects, buildGrounded),
		define("prefer", wording.Text{En: "A model finds the output no worse than that of another flow, asked in both orders.", Zh: "按两种顺序询问，模型认为该输出不差于另一流程的输出。"}, dataSubjects, buildPrefer),
	}
}

func buildJudge(want Judging, a *argument) test {
	if pointer, message, hint := want.Validate(); message.En != "" {
		a.report(pointer, message, hint)
		return nil
	}
	return func(ctx context.Context, of *subject) *verdict {
		ruling, err := want.Ask(ctx, of.of.Services, of.of.Language, Judged{of.asText(), of.question()})
		if err != nil {
			return errorOf(err)
		}
		v := pass()
		if !ruling.Passed {
			v = failf("the judge: %s", unmetText(ruling, want.Rubric != ""))
		}
		v.judge = &result.Judge{Provider: want.LLM.Text(), Criteria: ruling.Criteria}
		return v.withScore(ruling.Score)
	}
}

// question returns the question of the run; "" if there is none.
func (s *subject) question() string {
	q, _ := s.of.Inputs.Get("question")
	return textOf(q)
}

// unmetText says which criteria a judge found unmet.
func unmetText(r *Ruling, isRubric bool) wording.Text {
	if isRubric {
		return wording.Say("%.1f of 10: %s", 10*r.Score, r.Criteria[0].Reason)
	}
	var unmet []wording.Text
	for _, c := range r.Criteria {
		if !c.Met {
			unmet = append(unmet, wording.Say("not %q: %s", c.Text, c.Reason))
		}
	}
	return wording.Join(unmet, "; ", "；")
}

// groundedWant are the pieces of a prompt that may support a text.
type groundedWant struct {
	Kinds []string            `json:"kinds" min:"1" doc:"The kinds of pieces that support claims: file, memory, world_book, skill, tool ..."`
	In    string              `json:"in,omitempty" doc:"The step whose prompt it is. Default: the step of the check, or the last one that asked a model."`
	Min   float64             `json:"min,omitempty" default:"1" min:"0" max:"1" doc:"What share of the claims must be supported."`
	LLM   calls.ProviderNames `json:"llm,omitempty" doc:"The provider that judges, or a list that is asked in order."`
}

func buildGrounded(want groundedWant, a *argument) test {
	if want.In != "" && !a.holds("/in", a.scope.checkStep(want.In)) {
		return nil
	}
	for i, kind := range want.Kinds {
		if !a.holds("/kinds/"+value.OfInt(int64(i)).JSON(), a.scope.knownNames().CheckKind(kind)) {
			return nil
		}
	}
	if !a.isBound("/min", want.Min) {
		return nil
	}
	return func(ctx context.Context, of *subject) *verdict {
		sources, failed := of.supports(ctx, want)
		if failed != nil {
			return failed
		}
		env, err := of.of.Services.judgeEnv(want.LLM.Text(), of.of.Language)
		if err != nil {
			return errorOf(err)
		}
		names := value.Pairs("judged", fence(of.asText(), "judged"), "sources", sources)
		var answer groundedAnswer
		hasClaims := func() error {
			if len(answer.Claims) > 0 || strings.TrimSpace(of.asText()) == "" {
				return nil
			}
			return calls.Errorf(calls.Provider, "the judge found no claims in %s", of.String()).
				WithHint("let another model judge: grounded: {llm: NAME, ...}; a text that claims nothing needs no grounded")
		}
		if err := askJudge(ctx, env, "grounded", names, schema.MustFor[groundedAnswer](), &answer, hasClaims); err != nil {
			return errorOf(err)
		}
		return answer.verdictOf(len(sources), want)
	}
}

// supports returns the pieces of the prompt that may support a text.
func (s *subject) supports(ctx context.Context, want groundedWant) ([]string, *verdict) {
	step := want.In
	if step == "" && s.kind == stepSubject {
		step = s.step
	}
	if step == "" {
		step = explain.LastPrompt(s.of.Flow, s.of.Record)
	}
	if step == "" {
		return nil, errorOf(calls.Errorf(calls.Missing, "no step of the run has a prompt").WithHint("name one: grounded: {in: STEP, ...}"))
	}
	prompt := &subject{parsedSubject: &parsedSubject{kind: promptSubject, step: step, text: step}, of: s.of}
	if failed := prompt.resolvePrompt(ctx); failed != nil {
		return nil, failed
	}
	var sources []string
	last := ""
	for _, f := range piecesOf(prompt.lastPrompt()) {
		kind, name := result.NameOf(f.piece.Sources)
		key := kind + "\x00" + name
		isOfKind := false
		for _, k := range want.Kinds {
			isOfKind = isOfKind || selector{Kind: k}.covers(f.piece)
		}
		switch {
		case !isOfKind:
			key = ""
		case key == last:
			sources[len(sources)-1] += fence(f.piece.Text, "source")
		default:
			sources = append(sources, fence(f.piece.Text, "source"))
		}
		last = key
	}
	if len(sources) == 0 {
		return nil, failf("the prompt of %s has no piece of %s that could support a claim", step, value.ListNames(want.Kinds))
	}
	return sources, nil
}

// groundedAnswer are the claims of a text, each with the number of the piece that supports it.
type groundedAnswer struct {
	Claims []groundedClaim `json:"claims"`
}

type groundedClaim struct {
	Claim  string `json:"claim"`
	Reason string `json:"reason"`
	Source int    `json:"source" min:"0"`
}

// verdictOf counts the claims that a piece supports. A piece that does not exist supports none.
func (g *groundedAnswer) verdictOf(sources int, want groundedWant) *verdict {
	judge := &result.Judge{Provider: want.LLM.Text()}
	supported := 0
	var loose []string
	for _, c := range g.Claims {
		isSupported := c.Source >= 1 && c.Source <= sources
		judge.Criteria = append(judge.Criteria, result.Criterion{Text: c.Claim, Reason: c.Reason, Met: isSupported})
		if isSupported {
			supported++
		} else {
			loose = append(loose, c.Claim)
		}
	}
	score := 1.0
	if len(g.Claims) > 0 {
		score = float64(supported) / float64(len(g.Claims))
	}
	v := pass()
	if score < want.Min-1e-9 {
		v = failf("%d of %d claims are not supported by the prompt: %s", len(loose), len(g.Claims), quoteList(loose))
	}
	v.judge = judge
	return v.withScore(score)
}

// preferWant names another flow whose output is compared.
type preferWant struct {
	Over     string              `json:"over" min:"1" doc:"The other flow, as the test file names it under flows."`
	Criteria []string            `json:"criteria" min:"1" doc:"What counts."`
	Min      float64             `json:"min,omitempty" default:"0.5" min:"0" max:"1" doc:"1: this flow must win; 0.5: a tie is enough."`
	LLM      calls.ProviderNames `json:"llm,omitempty" doc:"The provider that judges, or a list that is asked in order."`
}

// preferAnswer is which of two texts is better.
type preferAnswer struct {
	Reason string `json:"reason"`
	Better string `json:"better" enum:"first|second|same"`
}

func buildPrefer(want preferWant, a *argument) test {
	if !areGiven(a, want.Criteria) || !a.isBound("/min", want.Min) {
		return nil
	}
	need := Need{Flow: want.Over}
	a.need(need)
	return func(ctx context.Context, of *subject) *verdict {
		other, failed := of.of.other(ctx, need)
		if failed != nil {
			return failed
		}
		theirs := &subject{parsedSubject: of.parsedSubject, of: other}
		if failed := theirs.find(ctx); failed != nil {
			failed.outcome = result.Error
			failed.message = wording.Say("the flow %s: %s", want.Over, failed.message)
			return failed
		}
		return want.compare(ctx, of, of.asText(), theirs.asText())
	}
}

// compare asks in both orders; if the answers disagree it is a tie.
func (w preferWant) compare(ctx context.Context, of *subject, own, other string) *verdict {
	env, err := of.of.Services.judgeEnv(w.LLM.Text(), of.of.Language)
	if err != nil {
		return errorOf(err)
	}
	var answers [2]preferAnswer
	for i, pair := range [][2]string{{own, other}, {other, own}} {
		names := value.Pairs("first", fence(pair[0], "first"), "second", fence(pair[1], "second"), "criteria", w.Criteria, "question", fence(of.question(), "question"))
		if err := askJudge(ctx, env, "prefer", names, schema.MustFor[preferAnswer](), &answers[i], nil); err != nil {
			return errorOf(err)
		}
	}
	score := 0.5
	switch [2]string{answers[0].Better, answers[1].Better} {
	case [2]string{"first", "second"}:
		score = 1
	case [2]string{"second", "first"}:
		score = 0
	}
	v := pass()
	if score < w.Min-1e-9 {
		v = failf("the judge prefers the output of %s: %s", w.Over, answers[0].Reason)
		if score > 0 {
			v = failf("it is a tie with the output of %s: %s", w.Over, answers[0].Reason)
		}
	}
	v.judge = &result.Judge{Provider: w.LLM.Text(), Criteria: []result.Criterion{
		{Text: strings.Join(w.Criteria, "; "), Reason: answers[0].Reason, Met: score >= w.Min},
	}}
	return v.withScore(score)
}

// similarWant is a text, or several; the nearest counts.
type similarWant struct {
	To    oneOrMore `json:"to" doc:"The text to compare with, or a list of which the nearest counts."`
	Min   float64   `json:"min" min:"0" max:"1" doc:"The cosine must be at least this."`
	LLM   string    `json:"llm,omitempty" doc:"The provider of the embeddings."`
	Model string    `json:"model,omitempty" doc:"The model of the embeddings; the provider's own where it is not given."`
}

// oneOrMore is a text, or a list of texts.
type oneOrMore []string

// JSONSchema returns the schema of both forms.
func (oneOrMore) JSONSchema() value.Value {
	text := value.OfMap(value.Pairs("type", "string", "minLength", 1))
	return value.OfMap(value.Pairs("anyOf", value.OfList(text, value.OfMap(value.Pairs("type", "array", "minItems", 1, "items", text)))))
}

// DecodeValue reads both forms.
func (l *oneOrMore) DecodeValue(v value.Value) error {
	if text, ok := v.Str(); ok {
		*l = oneOrMore{text}
		return nil
	}
	return value.Decode(v, (*[]string)(l))
}

func buildSimilar(want similarWant, a *argument) test {
	if !a.isBound("/min", want.Min) {
		return nil
	}
	if len(llm.ParseNames(want.LLM)) > 1 {
		a.report("/llm", wording.Say("embeddings come from one provider: vectors of two models cannot be compared"), wording.Say("name one"))
		return nil
	}
	return func(ctx context.Context, of *subject) *verdict {
		if of.of.Services.Provider == nil {
			return errorOf(calls.Errorf(calls.Missing, "there is no model for embeddings").WithHint("name one: similar: {llm: NAME, ...}"))
		}
		p, err := of.of.Services.Provider(want.LLM)
		if err != nil {
			return errorOf(err)
		}
		embeddings, ok := p.(llm.EmbeddingProvider)
		if !ok {
			return errorOf(calls.Errorf(calls.Invalid, "the provider that is asked has no models for embeddings").WithHint("name another: similar: {llm: NAME, ...}"))
		}
		vectors, err := embeddings.Embedder(want.Model, 0).Embed(ctx, append([]string{of.asText()}, want.To...))
		if err != nil {
			return errorOf(err)
		}
		if len(vectors) != 1+len(want.To) {
			return errorOf(calls.Errorf(calls.Provider, "the provider gave %d embeddings for %d texts", len(vectors), 1+len(want.To)))
		}
		best, at := -1.0, 0
		for i, v := range vectors[1:] {
			if c := cosine(vectors[0], v); c > best {
				best, at = c, i
			}
		}
		score := max(best, 0)
		if best >= want.Min {
			return pass().withScore(score)
		}
		return failf("the likeness is %.3f, less than %.3f: %q", best, want.Min, value.Truncate(of.asText(), maxShown)).
			withHint("it was compared with %q", value.Truncate(want.To[at], maxShown)).withScore(score)
	}
}

// cosine returns the cosine of the angle between two vectors; 0 if one is 0, or they have different sizes.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	dot, x, y := 0.0, 0.0, 0.0
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}
