package slot

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

//go:embed lang
var builtIn embed.FS

// templateTexts returns the prompts of the call.
func templateTexts() calls.Texts { return ask.Texts("slot", builtIn) }

// renderTemplate renders a template, with the sources of its pieces as parts of the
// first message.
func (w *Work) renderTemplate(ctx context.Context, name string, values *value.Map) (string, []calls.Part, error) {
	text, parts, err := ask.TracedPrompt(ctx, w.Env, "slot", builtIn, name, values)
	for i, p := range parts {
		if p.Name == "tool.purpose" { // it is the schema's, not the step's
			parts[i].Kind, parts[i].Name = "purpose", "purpose"
		}
	}
	return text, parts, err
}

// moveToMessage returns the parts as those of another message.
func moveToMessage(index int, parts []calls.Part) []calls.Part {
	for i := range parts {
		parts[i].Message = &index
	}
	return parts
}

// renderPrompt renders the request for what is still missing. nullable means that what
// the model does not know it answers with null.
func (w *Work) renderPrompt(ctx context.Context, nullable bool) (string, []calls.Part, error) {
	step, now := w.Env.Vars.Step, w.Env.Vars.Now
	name := step.Name
	if name == "" {
		name = step.ID
	}
	facts := make([]string, len(w.Input.Facts))
	for i, fact := range w.Input.Facts {
		facts[i] = singleLine(fact)
	}
	optional := ""
	if flat := w.Filling.Optional(); flat.Map().Len() > 0 {
		optional = escapeClosingTags(flat.JSON())
	}
	return w.renderTemplate(ctx, "prompt", value.Pairs(
		"now", now.Format("2006-01-02 15:04 ")+calls.Weekday(now.Weekday(), w.Env.Vars.Language),
		"question", escapeClosingTags(w.Input.Question),
		"summary", escapeClosingTags(w.Input.Summary),
		"facts", facts,
		"history", w.shownHistory(),
		"tool", value.Pairs("name", singleLine(name), "description", singleLine(step.Description), "purpose", w.schemaPurpose()),
		"known", escapeClosingTags(w.shownData().JSON()),
		"schema", escapeClosingTags(w.Filling.Remaining().JSON()),
		"optional", optional,
		"nullable", nullable,
	))
}

// maxPurposeTokens is what the description of the schema may take of a prompt.
const maxPurposeTokens = 500

// schemaPurpose returns the schema's description of what the values are for; for parameters,
// that of the call.
func (w *Work) schemaPurpose() string {
	description, _ := w.schema.Get("description")
	text, _ := description.Str()
	return escapeClosingTags(w.truncateTokens(strings.TrimSpace(text), maxPurposeTokens))
}

// maxKnownTokens is what one known argument may take of a prompt.
const maxKnownTokens = 1000

// shownData returns the arguments that are known. Of one that is long, such as an OpenAPI
// document, the beginning is shown.
func (w *Work) shownData() value.Value {
	data := w.Filling.Data()
	if data.Kind() != value.Object || w.Env.Tokens.Count(data.JSON()) <= maxKnownTokens {
		return data
	}
	shown := value.NewMap(data.Map().Len())
	for name, v := range data.Map().All() {
		text, ok := v.Str()
		if !ok {
			text = v.JSON()
		}
		if clipped := w.truncateTokens(text, maxKnownTokens); clipped != text {
			v = value.OfString(clipped)
		}
		shown.Set(name, v)
	}
	return value.OfMap(shown)
}

// renderRetry renders what was wrong with an answer.
func (w *Work) renderRetry(ctx context.Context, rejected []processor.Rejection) (string, []calls.Part, error) {
	list := make([]*value.Map, len(rejected))
	for i, r := range rejected {
		list[i] = value.Pairs("pointer", fmt.Sprintf("%q", r.Pointer), "reason", singleLine(r.Reason))
	}
	return w.renderTemplate(ctx, "retry", value.Pairs("rejected", list, "schema", escapeClosingTags(w.Filling.Remaining().JSON())))
}

// shownHistory returns the upstream steps that fit into the tokens they may take, oldest
// first. Of the newest, the beginning is shown where it is too long by itself.
func (w *Work) shownHistory() []*value.Map {
	left := w.historyTokens
	var shown []*value.Map
	for i := len(w.Input.History) - 1; i >= 0 && left > 0; i-- {
		record := w.Input.History[i]
		output := record.Output.JSON()
		if text, ok := record.Output.Get("text"); ok && record.Output.Map().Len() == 1 {
			output, _ = text.Str()
		}
		tokens := w.Env.Tokens.Count(output)
		if tokens > left {
			if len(shown) > 0 {
				break
			}
			output = w.truncateTokens(output, left)
		}
		left -= tokens
		name := record.Name
		if name == "" {
			name = record.ID
		}
		shown = append([]*value.Map{value.Pairs("name", singleLine(name), "description", singleLine(record.Description), "output", escapeClosingTags(output))}, shown...)
	}
	return shown
}

// escapeClosingTags keeps text from closing a section of the prompt. In JSON it means the
// same.
func escapeClosingTags(text string) string { return strings.ReplaceAll(text, "</", `<\/`) }

// singleLine is text on one line that can be put between quotes and cannot close a
// section.
func singleLine(text string) string {
	return strings.ReplaceAll(escapeClosingTags(strings.Join(strings.Fields(text), " ")), `"`, "'")
}
