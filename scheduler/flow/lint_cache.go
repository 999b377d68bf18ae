package flow

import (
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
)

// minCached is how much text that stays the same must stand after a piece that changes
// for a warning, in bytes: about the thousand tokens from which on providers cache the
// beginning of a prompt.
const minCached = 4096

// lintCaches warns of prompts that begin with what changes from request to request, and
// go on with a long text that does not: no provider can cache that.
func (u *unit) lintCaches() {
	for _, s := range u.steps {
		if s.With == nil {
			continue
		}
		switch s.Call {
		case "chat", "agent":
			u.lintCache(s, u.messageSegments(s))
		case "context":
			u.lintContextCache(s)
		}
	}
}

// segment is a stretch of a prompt: text that stays the same, or a name whose value
// changes from request to request.
type segment struct {
	stable   int // bytes
	changing string
	pos      Position
}

// messageSegments returns the segments of the messages that a step writes out.
func (u *unit) messageSegments(s *stepUnit) (all []segment) {
	for _, pointer := range []string{"/system", "/user", "/prompt"} {
		all = append(all, u.segmentsOf(s.With, pointer)...)
	}
	messages, rest := Descend(s.With, "/messages")
	if rest == "" {
		for _, m := range messages.List {
			all = append(all, u.segmentsOf(m, "/content")...)
		}
	}
	return all
}

// templateTag is a tag of a template: what stands between two is text.
var templateTag = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}`)

// segmentsOf returns the segments of the text at a pointer; none where there is no text.
func (u *unit) segmentsOf(root *Param, pointer string) (all []segment) {
	p, rest := Descend(root, pointer)
	v, isLiteral := p.Static()
	if isLiteral {
		v, _ = v.At(rest)
		text, _ := v.Str()
		return []segment{{stable: len(text)}}
	}
	if rest != "" {
		return nil
	}
	if p.Expr != nil {
		for _, ref := range p.Expr.Refs() {
			if u.isChanging(ref) {
				return []segment{{changing: strings.Join(ref.Path, "."), pos: p.Pos}}
			}
		}
		return nil
	}
	if p.Text == nil {
		return nil
	}
	source := p.Text.Source()
	stable := func(from, to int) segment {
		return segment{stable: len(templateTag.ReplaceAllString(source.Text[from:to], ""))}
	}
	end := 0
	for _, ref := range p.Text.Refs() {
		if !u.isChanging(ref) || ref.Offset < end {
			continue
		}
		pos := p.Pos
		pos.Line, pos.Col = source.At(ref.Offset)
		all = append(all, stable(end, ref.Offset), segment{changing: strings.Join(ref.Path, "."), pos: pos})
		end = ref.Offset
	}
	return append(all, stable(end, len(source.Text)))
}

// isChanging reports whether a name is one of those that differ from request to request:
// the run and its time, counters, what was just said, memories found for the question.
func (u *unit) isChanging(ref prompt.Ref) bool {
	switch ref.Path[0] {
	case "index":
		return true
	case "run":
		return len(ref.Path) > 1 && slices.Contains([]string{"id", "started_at"}, ref.Path[1])
	case "vars":
		changing := []string{"current_time", "current_datetime", "timestamp", "turn_count", "last_user_message", "last_assistant_message"}
		return len(ref.Path) > 1 && slices.Contains(changing, ref.Path[1])
	}
	i, isStep := u.byID[ref.Path[0]]
	return isStep && slices.Contains([]string{"memory-retrieve", "memory-recent"}, u.steps[i].Call)
}

// lintCache warns of the first piece that changes, where enough stands after it.
func (u *unit) lintCache(s *stepUnit, segments []segment) {
	for i, changing := range segments {
		if changing.changing == "" {
			continue
		}
		after := 0
		for _, rest := range segments[i+1:] {
			after += rest.stable
		}
		if after >= minCached {
			u.warn(changing.pos, "%s changes with every request of step %q, and %d KiB that stay the same come after it: providers cannot cache them",
				changing.changing, s.ID, after>>10).hint("put what changes after what stays the same, or into the last message")
		}
		return
	}
}

// lintContextCache warns of a system prompt that begins with what changes, before the
// files of the workspace.
func (u *unit) lintContextCache(s *stepUnit) {
	if _, rest := Descend(s.With, "/workspace"); rest != "" {
		return
	}
	for _, part := range u.segmentsOf(s.With, "/identity") {
		if part.changing != "" {
			u.warn(part.pos, "%s changes with every request, and the files of the workspace come after it: providers cannot cache them", part.changing).
				hint("leave it out of the identity, and put it into current_message")
			return
		}
	}
}
