package slot

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

//go:embed lang
var builtIn embed.FS

// template finds a template: that of a user's folder for the language first, then
// the built-in one, then the English one.
func (w *work) template(name string) (*prompt.Template, error) {
	language := w.env.Vars.Language
	family, _, _ := strings.Cut(language, "-") // zh for zh-CN
	type place struct {
		files fs.FS
		path  string
	}
	var places []place
	for _, l := range []string{language, family} {
		if w.env.Languages != nil {
			places = append(places, place{w.env.Languages, l + "/slot/" + name})
		}
		places = append(places, place{builtIn, "lang/" + l + "/" + name})
	}
	for _, p := range append(places, place{builtIn, "lang/en/" + name}) {
		if !fs.ValidPath(p.path) {
			continue
		}
		text, err := fs.ReadFile(p.files, p.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "reading the prompt: %w", err)
		}
		t, err := prompt.Parse(prompt.Source{File: p.path, Text: string(text)})
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "%w", err)
		}
		return t, nil
	}
	return nil, calls.Errorf(calls.Internal, "there is no prompt %s", name)
}

func (w *work) render(ctx context.Context, name string, values *value.Map) (string, error) {
	t, err := w.template(name)
	if err != nil {
		return "", err
	}
	text, err := t.Render(ctx, prompt.Values{Map: values})
	if err != nil {
		return "", calls.Errorf(calls.Invalid, "%w", err)
	}
	return strings.TrimSpace(text), nil
}

// prompt asks for what is missing by now. nullable says that what is not known is
// answered with null.
func (w *work) prompt(ctx context.Context, nullable bool) (string, error) {
	step := w.env.Vars.Step
	name := step.Name
	if name == "" {
		name = step.ID
	}
	facts := make([]string, len(w.in.Facts))
	for i, fact := range w.in.Facts {
		facts[i] = line(fact)
	}
	optional := ""
	if flat := w.filling.Optional(); flat.Map().Len() > 0 {
		optional = guard(flat.JSON())
	}
	return w.render(ctx, "prompt.txt", value.Pairs(
		"now", w.env.Vars.Now.Format("2006-01-02 15:04 Monday"),
		"question", guard(w.in.Question),
		"summary", guard(w.in.Summary),
		"facts", facts,
		"history", w.history(),
		"tool", value.Pairs("name", line(name), "description", line(step.Description)),
		"known", guard(w.filling.Data().JSON()),
		"schema", guard(w.filling.Remaining().JSON()),
		"optional", optional,
		"nullable", nullable,
	))
}

// retry says what was wrong with an answer.
func (w *work) retry(ctx context.Context, rejected []processor.Rejection) (string, error) {
	list := make([]*value.Map, len(rejected))
	for i, r := range rejected {
		list[i] = value.Pairs("pointer", fmt.Sprintf("%q", r.Pointer), "reason", line(r.Reason))
	}
	return w.render(ctx, "retry.txt", value.Pairs("rejected", list, "schema", guard(w.filling.Remaining().JSON())))
}

// history is the upstream steps that fit into the tokens they may take, oldest
// first. Of the newest, the beginning is shown where it is too long by itself.
func (w *work) history() []*value.Map {
	left := w.historyTokens
	var shown []*value.Map
	for i := len(w.in.History) - 1; i >= 0 && left > 0; i-- {
		record := w.in.History[i]
		output := record.Output.JSON()
		if text, ok := record.Output.Get("text"); ok && record.Output.Map().Len() == 1 {
			output, _ = text.Str()
		}
		tokens := w.env.Tokens.Count(output)
		if tokens > left {
			if len(shown) > 0 {
				break
			}
			output = w.clip(output, left)
		}
		left -= tokens
		name := record.Name
		if name == "" {
			name = record.ID
		}
		shown = append([]*value.Map{value.Pairs("name", line(name), "description", line(record.Description), "output", guard(output))}, shown...)
	}
	return shown
}

// guard keeps text from closing a section of the prompt. In JSON it means the
// same.
func guard(text string) string { return strings.ReplaceAll(text, "</", `<\/`) }

// line is guarded text on one line that can stand between quotes.
func line(text string) string {
	return strings.ReplaceAll(guard(strings.Join(strings.Fields(text), " ")), `"`, "'")
}
