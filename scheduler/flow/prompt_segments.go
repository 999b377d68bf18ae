package flow

import (
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// maxFollowed limits the texts of other steps that are followed for one prompt.
const maxFollowed = 200

// segment is a stretch of a prompt: text that stays the same, or a name whose value changes from request to
// request. Text that is not known to be either has no segment.
type segment struct {
	stable   int // bytes
	changing string
	pos      Position
}

// flowScope has the steps that templates of a flow may name. For a flow that a step runs, outer is the scope of
// that step, and inputs has the step's values.
type flowScope struct {
	steps  map[string]*Step
	outer  *flowScope
	inputs *Param
}

// scopeOf returns the scope of a flow that no step runs.
func scopeOf(f *Flow) flowScope {
	steps := make(map[string]*Step, len(f.Steps))
	for _, s := range f.Steps {
		if _, twice := steps[s.ID]; !twice { // of equal ids the first counts, as for templates
			steps[s.ID] = s
		}
	}
	return flowScope{steps: steps}
}

// isChanging reports whether the text of a name in a prompt differs from request to request: the run and its time,
// counters and items, the newest messages, memories found for the question, answers of models.
func (f flowScope) isChanging(ref prompt.Ref) bool {
	if ref.Decides {
		return false
	}
	switch ref.Path[0] {
	case "index", "item", "question", "conversation", "history":
		return true
	case "run": // an id and a time are of one length
		return len(ref.Path) > 1 && slices.Contains([]string{"id", "started_at"}, ref.Path[1]) && !ref.Counted
	case "vars":
		return len(ref.Path) > 1 && isChangingVariable(ref.Path[1])
	}
	s := f.steps[ref.Path[0]]
	if s == nil {
		return false
	}
	info := s.Def.Info
	if info == nil { // an unknown call
		return false
	}
	isAnswer := func(member string) bool { return slices.Contains(info.FromModel, member) }
	return info.OnlyRecalls || slices.ContainsFunc(ref.Path[1:], isAnswer) || len(ref.Path) == 1 && len(info.FromModel) > 0
}

// isChangingVariable reports whether a built-in variable differs from request to request.
func isChangingVariable(name string) bool {
	return slices.Contains([]string{
		"current_time", "current_datetime", "timestamp", "turn_count", "current_user_input", "last_user_message", "last_assistant_message",
		"now", "short_term_history_content", "long_term_memory_content",
	}, strings.TrimPrefix(name, "vars."))
}

// promptTracer finds the parts of a prompt, as far as the flow shows them: through the outputs of calls that put
// prompts together, and through flows in flows. lintCaches makes one for a step.
type promptTracer struct {
	flowScope
	left int // texts of other steps that may be followed
}

// traceIn lets trace follow a scope, unless the limit of texts is reached.
func (t *promptTracer) traceIn(scope flowScope, trace func(*promptTracer) []segment) []segment {
	if t.left <= 0 {
		return nil
	}
	inner := &promptTracer{scope, t.left - 1}
	all := trace(inner)
	t.left = inner.left
	return all
}

// listSegments returns the segments of the messages at a pointer.
func (t *promptTracer) listSegments(root *Param, pointer string) (all []segment) {
	messages, rest := Descend(root, pointer)
	if v, isLiteral := messages.Static(); isLiteral {
		v, _ = v.At(rest)
		for _, m := range v.List() {
			content, _ := m.Get("content")
			text, _ := content.Str()
			all = append(all, segment{stable: len(text)})
		}
		return all
	}
	if rest != "" {
		return nil
	}
	if messages.Expr != nil {
		return t.segmentsOf(root, pointer)
	}
	for _, m := range messages.List {
		all = append(all, t.segmentsOf(m, "/content")...)
	}
	return all
}

var (
	// templateTag is a tag of a template: between two tags is text.
	templateTag = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}`)
	// plainTag matches a tag that prints a value unchanged.
	plainTag = regexp.MustCompile(`^\{\{-?\s*[\w.\[\]'"]+\s*-?\}\}$`)
	// filteredTag matches a tag that prints a filtered value, whose length is not known.
	filteredTag = regexp.MustCompile(`(?s)^\{\{-?\s*[\w.\[\]'"]+\s*\|.*\}\}$`)
)

// segmentsOf returns the segments of the text at a pointer; none if nothing is known of it.
func (t *promptTracer) segmentsOf(root *Param, pointer string) (all []segment) {
	p, rest := Descend(root, pointer)
	v, isLiteral := p.Static()
	if isLiteral {
		v, _ = v.At(rest)
		text, _ := v.Str()
		return []segment{{stable: len(text)}}
	}
	if p.Expr != nil {
		if path, ok := p.Expr.Path(); ok {
			return t.referenceSegments(prompt.Ref{Path: append(path[:len(path):len(path)], PointerTokens(rest)...)}, p.Pos)
		}
		for _, ref := range p.Expr.Refs() {
			if rest == "" && t.isChanging(ref) {
				return []segment{{changing: strings.Join(ref.Path, "."), pos: p.Pos}}
			}
		}
	}
	if p.Text == nil || rest != "" {
		return nil
	}
	source := p.Text.Source()
	return templateSegments(source.Text, p.Text.Refs(), func(ref prompt.Ref) []segment {
		pos := p.Pos
		pos.Line, pos.Col = source.At(ref.Offset)
		return t.referenceSegments(ref, pos)
	})
}

// templateSegments returns the segments of a template: of its text, and of the values that it prints unchanged. Of
// filtered values only the changing segments count, of other names only names that change themselves.
func templateSegments(text string, refs []prompt.Ref, segmentsOf func(prompt.Ref) []segment) (all []segment) {
	end := 0
	addText := func(to int) {
		all = append(all, segment{stable: len(templateTag.ReplaceAllString(text[end:to], ""))})
		end = to
	}
	for _, tag := range templateTag.FindAllStringIndex(text, -1) {
		isPlain, isFiltered := plainTag.MatchString(text[tag[0]:tag[1]]), filteredTag.MatchString(text[tag[0]:tag[1]])
		addText(tag[0])
		end = tag[1]
		isInside := func(offset int) bool { return offset >= tag[0] && offset < tag[1] }
		for _, ref := range refs {
			isDirect := len(ref.Printed) == 0 && isInside(ref.Offset)
			if !isDirect && !slices.ContainsFunc(ref.Printed, isInside) {
				continue
			}
			for _, s := range segmentsOf(ref) {
				isOwn := s.changing == strings.Join(ref.Path, ".")
				isMade := (isFiltered || !isDirect) && s.changing != ""
				if isPlain && isDirect || isOwn || isMade {
					all = append(all, s)
				}
			}
		}
	}
	addText(len(text))
	return all
}

// referenceSegments returns the segments of the text of a name with members; none if nothing is known of it.
func (t *promptTracer) referenceSegments(ref prompt.Ref, pos Position) []segment {
	if t.isChanging(ref) {
		return []segment{{changing: strings.Join(ref.Path, "."), pos: pos}}
	}
	path, pointer := ref.Path, ""
	for _, member := range path[1:] {
		pointer += "/" + value.Escape(member)
	}
	if path[0] == "inputs" && t.outer != nil {
		return t.traceIn(*t.outer, func(outer *promptTracer) []segment { return outer.segmentsOf(t.inputs, pointer) })
	}
	s := t.steps[path[0]]
	if s == nil || s.With == nil || s.ForEach != nil || s.EnableFilling {
		return nil
	}
	return t.traceIn(t.flowScope, func(t *promptTracer) []segment { return t.outputSegments(s, pointer) })
}

// outputSegments returns the segments of the text, or of the messages, that the output of a step has at a pointer;
// "" means the messages that the step sends to its model.
func (t *promptTracer) outputSegments(s *Step, pointer string) (all []segment) {
	if s.Call == CallFlow && s.Sub != nil && s.Sub.Outputs != nil {
		inputs, rest := Descend(s.With, "/inputs")
		if rest != "" {
			return nil
		}
		inner := scopeOf(s.Sub)
		inner.outer, inner.inputs = &t.flowScope, inputs
		return t.traceIn(inner, func(t *promptTracer) []segment { return t.segmentsOf(s.Sub.Outputs, pointer) })
	}
	for _, piece := range piecesOf(s, pointer) {
		all = append(all, t.pieceSegments(s, piece)...)
	}
	return all
}

// piecesOf returns the pieces that the call of a step puts together at a pointer of its output.
func piecesOf(s *Step, pointer string) []calls.PromptPiece {
	if s.Def.Composes == nil {
		return nil
	}
	return s.Def.Composes(pointer, s.With.Written())
}

// pieceSegments returns the segments of a piece.
func (t *promptTracer) pieceSegments(s *Step, piece calls.PromptPiece) []segment {
	switch {
	case piece.Template != "":
		return t.renderedSegments(s, piece)
	case piece.Messages != "":
		return t.listSegments(s.With, piece.Messages)
	case piece.Text != "":
		return t.textSegments(s.With, piece.Text)
	case piece.Variable != "" && isChangingVariable(piece.Variable):
		return []segment{{changing: piece.Variable, pos: s.With.PosAt(piece.Of)}}
	default:
		return []segment{{stable: piece.Size}}
	}
}

// textSegments returns the segments of a text, or of each of a list of texts.
func (t *promptTracer) textSegments(root *Param, pointer string) (all []segment) {
	p, rest := Descend(root, pointer)
	if rest != "" || len(p.List) == 0 {
		return t.segmentsOf(root, pointer)
	}
	for _, item := range p.List {
		all = append(all, t.segmentsOf(item, "")...)
	}
	return all
}

// renderedSegments returns the segments of a template that a call renders with values.
func (t *promptTracer) renderedSegments(s *Step, piece calls.PromptPiece) []segment {
	p, rest := Descend(s.With, piece.Template)
	v, isStatic := p.Static()
	text, isText := v.Str()
	if rest != "" || !isStatic || !isText {
		return nil
	}
	parsed, err := prompt.Parse(prompt.Source{Text: text})
	if err != nil {
		return nil
	}
	return templateSegments(text, parsed.Refs(), func(ref prompt.Ref) []segment {
		pointer := piece.Values
		for _, member := range ref.Path {
			pointer += "/" + value.Escape(member)
		}
		return t.segmentsOf(s.With, pointer)
	})
}
