package slot

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

//go:embed lang/en lang/zh
var builtIn embed.FS

// templateTexts returns the prompts of the call, SLOT_GEN_PROMPT in the documents. Their part
// tool_call is schema here, because <tool_call> is a word of the chat templates of some models,
// for example of Qwen's.
func templateTexts() calls.Texts { return ask.Texts("slot", builtIn) }

// renderTemplate renders a template, with the sources of its pieces as parts of the
// first message.
func (w *Work) renderTemplate(ctx context.Context, name string, values ask.Values) (string, []calls.Part, error) {
	text, parts, err := ask.TracedPrompt(ctx, w.Env, "slot", builtIn, name, values)
	for i, p := range parts {
		if p.Name == "tool.purpose" { // it is the schema's, not the step's
			parts[i].Kind, parts[i].Name = "purpose", "purpose"
		}
	}
	return text, parts, err
}

// renderPrompt renders the request for the missing values. nullable means that the model answers unknown values
// with null.
func (w *Work) renderPrompt(ctx context.Context, nullable bool) (string, []calls.Part, error) {
	step, now := w.Env.Vars.Step, w.Env.Vars.Now
	name := step.Name
	if name == "" {
		name = step.ID
	}
	schema := calls.Origin{Pointer: "/current_schema"}
	optional := calls.Traced{}
	if flat := w.Filling.Optional(); flat.Map().Len() > 0 {
		optional = calls.ComputedFrom(schema, escapeClosingTags(flat.JSON()))
	}
	clock := now.Format("2006-01-02 15:04 ") + calls.Weekday(now.Weekday(), w.Env.Vars.Language)
	values := ask.NewValues("nullable", nullable, "tool", value.Pairs("name", singleLine(name), "description", singleLine(step.Description), "purpose", w.schemaPurpose()))
	values.Put("now", calls.ComputedFrom(calls.Origin{Kind: calls.OriginClock}, clock))
	values.Put("question", escapeTraced(calls.TracedName("question", "", w.Input.Question)))
	values.Set("asked", value.OfString(escapeClosingTags(w.params.Asked)))
	values.Put("message", escapeTraced(calls.TracedUser(w.params.Message)))
	values.Put("conversation", escapeTraced(w.dialogue(ctx)))
	values.Put("summary", escapeTraced(w.summary()))
	values.PutList("facts", w.facts())
	w.putHistory(values)
	values.Trace("tool/purpose", calls.ComputedFrom(schema, w.schemaPurpose()))
	values.Put("known", escapeTraced(calls.TracedJSON(w.shownData(), w.params.originOfDatum(w.Filling.Sources()))))
	values.Put("schema", calls.ComputedFrom(schema, escapeClosingTags(w.Filling.Remaining().JSON())))
	values.Put("optional", optional)
	return w.renderTemplate(ctx, "prompt", values)
}

// dialogue returns the dialogue before the question. It is read once for all stages.
func (w *Work) dialogue(ctx context.Context) calls.Traced {
	if w.talk == nil {
		talk := ask.FormatDialogue(ctx, w.Env, w.params.Messages, w.params.HistoryTokens, "conversation")
		w.talk = &talk
	}
	return *w.talk
}

// summary returns the summary with its origin: the parameter, or else the run's summary.
func (w *Work) summary() calls.Traced {
	if w.params.Summary != "" {
		return calls.TracedParam("/summary", w.Input.Summary)
	}
	return calls.TracedName("summary", "", w.Input.Summary)
}

// facts returns the facts, each on one line.
func (w *Work) facts() []calls.Traced {
	facts := make([]calls.Traced, len(w.Input.Facts))
	for i, fact := range w.Input.Facts {
		at := "/" + strconv.Itoa(i)
		text := calls.TracedName("facts", at, fact)
		if len(w.params.Facts) > 0 {
			text = calls.TracedParam("/facts"+at, fact)
		}
		facts[i] = singleLineTraced(text)
	}
	return facts
}

// maxPurposeTokens bounds the description of the schema in a prompt.
const maxPurposeTokens = 500

// schemaPurpose returns the schema's description of the values; for parameters, the description of the call.
func (w *Work) schemaPurpose() string {
	description, _ := w.params.CurrentSchema.Get("description")
	text, _ := description.Str()
	return escapeClosingTags(w.truncateTokens(strings.TrimSpace(text), maxPurposeTokens))
}

// maxKnownTokens bounds one known argument in a prompt.
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
		text := v.PlainText()
		if clipped := w.truncateTokens(text, maxKnownTokens); clipped != text {
			v = value.OfString(clipped)
		}
		shown.Set(name, v)
	}
	return value.OfMap(shown)
}

// renderRetry renders the faults of an answer.
func (w *Work) renderRetry(ctx context.Context, rejected []processor.Rejection) (string, []calls.Part, error) {
	list := make([]*value.Map, len(rejected))
	for i, r := range rejected {
		list[i] = value.Pairs("pointer", fmt.Sprintf("%q", r.Pointer), "reason", singleLine(r.Reason))
	}
	values := ask.NewValues("rejected", list)
	values.Put("schema", calls.ComputedFrom(calls.Origin{Pointer: "/current_schema"}, escapeClosingTags(w.Filling.Remaining().JSON())))
	return w.renderTemplate(ctx, "retry", values)
}

// putHistory adds the upstream steps that fit into their share of tokens, oldest first. If the newest is too long
// by itself, its beginning is shown.
func (w *Work) putHistory(values ask.Values) {
	left, isCut := w.params.HistoryTokens, false
	var outputs []calls.Traced
	for i := len(w.Input.History) - 1; i >= 0 && left > 0; i-- {
		output := recordText(w.Input.History[i])
		tokens := w.Env.Tokens.Count(output.Text)
		if tokens > left {
			if len(outputs) > 0 {
				break
			}
			output, isCut = output.Truncate(left, w.Env.Tokens), true
		}
		left -= tokens
		outputs = append(outputs, output)
	}
	shown := make([]*value.Map, len(outputs))
	first := len(w.Input.History) - len(outputs)
	if first > 0 {
		w.Env.Warn("cut", "of %d steps before this one, the model was not shown the first %d: history_tokens is %d", len(w.Input.History), first, w.params.HistoryTokens)
	}
	if isCut {
		w.Env.Warn("cut", "the model was shown only the beginning of what the last step put out: history_tokens is %d", w.params.HistoryTokens)
	}
	for i := range shown {
		record := w.Input.History[first+i]
		name := record.Name
		if name == "" {
			name = record.ID
		}
		output := values.Trace(fmt.Sprintf("history/%d/output", i), escapeTraced(outputs[len(outputs)-1-i]))
		shown[i] = value.Pairs("name", singleLine(name), "description", singleLine(record.Description), "output", output)
	}
	values.Set("history", value.Must(shown))
}

// recordText returns the output of a step: its text, if it has only that, else its JSON.
func recordText(r calls.FinishedStep) calls.Traced {
	if r.Output.Map().Len() == 1 {
		if text := ask.RecordText(r); text.Text != "" {
			return text
		}
	}
	return ask.RecordJSON(r)
}

// escapeClosingTags keeps text from closing a section of the prompt. In JSON it means the
// same.
func escapeClosingTags(text string) string { return strings.ReplaceAll(text, "</", `<\/`) }

// singleLine is text on one line that can be put between quotes and cannot close a
// section.
func singleLine(text string) string {
	return strings.ReplaceAll(escapeClosingTags(strings.Join(strings.Fields(text), " ")), `"`, "'")
}

// escapeTraced is [escapeClosingTags] of a traced text.
func escapeTraced(text calls.Traced) calls.Traced { return text.ReplaceAll("</", `<\/`) }

// singleLineTraced is [singleLine] of a traced text.
func singleLineTraced(text calls.Traced) calls.Traced {
	return escapeTraced(text.Fields()).ReplaceAll(`"`, "'")
}
