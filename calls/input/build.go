package input

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// decision is whether a module is included, before its text is known.
type decision struct {
	include bool
	reason  string
	code    string // "" for included
}

// buildPrompt goes through the phases: names, importance, values, text. Nothing is
// fetched before all names are known, and no value of a module that is out.
func (b *builder) buildPrompt(ctx context.Context) (Output, error) {
	b.dialogue = sync.OnceValues(func() (dialogue, error) { return b.loadDialogue(ctx) })
	b.memories = sync.OnceValues(func() ([]recalledMemory, error) { return b.loadMemories(ctx) })
	b.state = sync.OnceValue(b.newState)
	if err := b.checkNames(); err != nil {
		return Output{}, err
	}
	decisions, err := b.judgeModules(ctx)
	if err != nil {
		return Output{}, err
	}
	var wanted []string
	for i, m := range b.config.Modules {
		for _, s := range m.Segments {
			if s.isVariable() && decisions[i].include {
				wanted = append(wanted, s.Value)
			}
		}
	}
	if err := b.fetchVariables(ctx, wanted); err != nil {
		return Output{}, err
	}
	return b.assemblePrompt(decisions)
}

// checkNames refuses a template with unknown names.
func (b *builder) checkNames() error {
	var faults []wording.Text
	for _, u := range b.names.findUnknown(b.config.Modules) {
		if u.variable == "" || b.params.OnUnknown == "error" {
			faults = append(faults, b.config.place(u.problem))
			continue
		}
		b.warn("%s", b.config.place(u.problem))
	}
	if len(faults) > 0 {
		return calls.Errorf(calls.NotFound, "%s", wording.Join(faults, "\n", "\n"))
	}
	return nil
}

// judgeModules decides for every module whether it is in. The modules of one function
// are judged in one batch.
func (b *builder) judgeModules(ctx context.Context) ([]decision, error) {
	decisions := make([]decision, len(b.config.Modules))
	byFunction := map[string][]int{}
	var order, variables []string
	for i, m := range b.config.Modules {
		name := m.Importance.name
		if m.Importance.never {
			decisions[i].reason, decisions[i].code = b.env.Say("importance_func is false"), "disabled"
			continue
		}
		if name == "" {
			decisions[i] = decision{include: true, reason: b.env.Say("always included")}
			continue
		}
		if byFunction[name] == nil {
			order = append(order, name)
			if _, ok := b.env.Registry.Importance(name); !ok {
				variables = append(variables, name)
			}
		}
		byFunction[name] = append(byFunction[name], i)
	}
	if err := b.fetchVariables(ctx, variables); err != nil {
		return nil, err
	}
	for _, name := range order {
		verdicts, err := b.askImportance(ctx, name, byFunction[name])
		if ctx.Err() != nil {
			return nil, causeOfEnd(ctx, err)
		}
		if err != nil && b.settings.OnImportanceErr == "fail" {
			return nil, foreignError(err, "importance function %q of module %q", name, b.config.Modules[byFunction[name][0]].Name)
		}
		for at, i := range byFunction[name] {
			if err != nil {
				decisions[i] = decision{b.settings.OnImportanceErr == "include", b.env.Say("%s failed: %w", name, err), "error"}
				b.warn("module %q is %sd: the importance function %s failed: %v", b.config.Modules[i].Name, b.settings.OnImportanceErr, name, err)
				continue
			}
			decisions[i] = decision{verdicts[at].Include, b.verdictReason(name, verdicts[at]), "condition"}
		}
	}
	return decisions, nil
}

func (b *builder) verdictReason(name string, v plugins.Verdict) string {
	if v.Reason != "" {
		return b.env.Say("%s: %s", name, wording.Of(v.Reason))
	}
	if v.Include {
		return b.env.Say("%s returned true", name)
	}
	return b.env.Say("%s returned false", name)
}

// askImportance has an importance function, or a variable that is true or false, judge
// modules.
func (b *builder) askImportance(ctx context.Context, name string, modules []int) ([]plugins.Verdict, error) {
	function, ok := b.env.Registry.Importance(name)
	if !ok {
		v, err := b.fetchedValue(name)
		if err != nil {
			return nil, err
		}
		include, ok := v.Bool()
		if !ok {
			return nil, wording.Errorf("want true or false, got %s", v.Kind())
		}
		return slices.Repeat([]plugins.Verdict{{Include: include, Reason: b.env.Say("the variable is %t", include)}}, len(modules)), nil
	}
	items := make([]plugins.Item, len(modules))
	for at, i := range modules {
		m := b.config.Modules[i]
		items[at] = plugins.Item{
			Name: m.Name, Text: m.fixedText(b.settings.SegmentSep),
			Data: value.OfMap(value.Pairs("segments", m.Segments)).AppendJSON(nil),
		}
	}
	var verdicts []plugins.Verdict
	err := b.callForeign(ctx, func(ctx context.Context) (err error) {
		verdicts, err = function.Judge(ctx, b.state(), items)
		return err
	})
	if err == nil && len(verdicts) != len(items) {
		err = wording.Errorf("it gave %d verdicts for %d modules", len(verdicts), len(items))
	}
	return verdicts, err
}

// assemblePrompt joins the texts of the modules that are in.
func (b *builder) assemblePrompt(decisions []decision) (Output, error) {
	out := Output{Parts: make([]calls.Part, 0, len(b.config.Modules))}
	var text strings.Builder
	write := func(part calls.Part, words calls.Traced) {
		part.Start = text.Len()
		text.WriteString(words.Text)
		part.Text, part.Origins, part.End = words.Text, words.Origins, text.Len()
		if words.Text != "" {
			part.Tokens = b.env.Tokens.Count(words.Text)
		}
		out.Parts = append(out.Parts, part)
	}
	separator := b.settings.traced(keySeparator, b.settings.Separator)
	for i, m := range b.config.Modules {
		d := decisions[i]
		var words calls.Traced
		if d.include {
			var err error
			words, d, err = b.renderModule(i, m, d)
			if err != nil {
				return Output{}, err
			}
		}
		if isBetween := d.include && text.Len() > 0 && separator.Text != ""; isBetween {
			write(calls.Part{Kind: "separator", Name: m.Name, Included: true, Reason: b.env.Say("between modules"), Code: codeIncluded}, separator)
		}
		part := calls.Part{Kind: "module", Name: m.Name, Module: m.Name, Included: d.include, Reason: d.reason, Code: d.code}
		if d.include && d.code == "" {
			part.Code = codeIncluded
		}
		write(part, words)
	}
	out.Prompt, out.Warnings = text.String(), b.warnings
	return out, nil
}

// codeIncluded is the code of a part that is in the prompt.
const codeIncluded = "included"

// renderModule returns the text of a module. A module without any text, and one that
// shall not be there without its variables, turns out to be out after all.
func (b *builder) renderModule(i int, m module, d decision) (calls.Traced, decision, error) {
	separator := b.settings.traced(keySegmentSep, b.settings.SegmentSep)
	var pieces []calls.Traced
	onlyMemory, filled, hasVariables := true, false, false
	for j, s := range m.Segments {
		text, err := b.segmentText(i, j, s)
		if err != nil {
			return calls.Traced{}, d, foreignError(err, "module %q, segments[%d]: variable %q", m.Name, j, s.Value)
		}
		if s.isVariable() {
			hasVariables = true
			onlyMemory = onlyMemory && isMemoryVariable(s.Value)
			filled = filled || strings.TrimSpace(text.Text) != ""
			if note := b.notes[s.Value]; note != "" {
				d.reason = b.env.Say("%s; %s", d.reason, note)
			}
		}
		if text.Text == "" {
			continue
		}
		if len(pieces) > 0 {
			pieces = append(pieces, separator)
		}
		pieces = append(pieces, text)
	}
	omit := onlyMemory
	if m.OmitIfEmpty != nil {
		omit = *m.OmitIfEmpty
	}
	if omit && hasVariables && !filled {
		return calls.Traced{}, decision{reason: b.env.Say("its variables are all empty"), code: "empty"}, nil
	}
	if len(pieces) == 0 {
		return calls.Traced{}, decision{reason: b.env.Say("it has no text"), code: "empty"}, nil
	}
	return calls.Traced{}.Append(pieces...), d, nil
}

// foreignError adds the place to the error of a foreign function. An error without a
// kind counts as the plugin's, which a retry may overcome.
func foreignError(err error, format string, args ...any) error {
	kind := calls.KindOf(err)
	if kind == calls.Internal {
		kind = calls.Plugin
	}
	return calls.Errorf(kind, "%s: %w", wording.Say(format, args...), err)
}
