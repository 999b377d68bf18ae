package check

import (
	"regexp"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/check/naming"
)

// selector names pieces of a prompt. Fields that are "" do not matter.
type selector struct {
	Kind   string `json:"kind,omitempty" doc:"What the piece is: file, preset, world_book, history, memory, skill, module, input, tool, model ..."`
	Name   string `json:"name,omitempty" doc:"The name that --explain prints: an identifier, the name of an entry, a path. * stands for any text."`
	Source string `json:"source,omitempty" doc:"Where the text comes from: inputs.question, inputs.*, a file, a step, the name of a tool, or http, tool, model, memory, user."`
}

// isEmpty reports whether it names every piece.
func (s selector) isEmpty() bool { return s == selector{} }

// text returns the selector as messages name it.
func (s selector) text() wording.Text {
	var parts []string
	for _, p := range []string{s.Kind, s.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	name := strings.Join(parts, " ")
	if s.Source == "" {
		return wording.Same(name)
	}
	if name == "" {
		return wording.Say("text from %s", s.Source)
	}
	return wording.Say("%s from %s", name, s.Source)
}

// covers reports whether the selector names a piece: a station on its way is of the kind and the name, and it
// comes from the source.
func (s selector) covers(p *explain.Piece) bool {
	return s.coversPart(p.Sources) && (s.Source == "" || comesFrom(p.Sources, s.Source))
}

// coversPart reports whether a station of a way is of the kind and the name.
func (s selector) coversPart(way []explain.Source) bool {
	if s.Kind == "" && s.Name == "" {
		return true
	}
	for i := range way {
		kindFits := s.Kind == "" || way[i].Part == s.Kind || string(way[i].Kind) == s.Kind
		if kindFits && (s.Name == "" || nameFits(&way[i], s.Name)) {
			return true
		}
	}
	return false
}

// nameFits reports whether a station has a name.
func nameFits(s *explain.Source, name string) bool {
	own := s.Name
	if own == "" {
		own = s.Step
	}
	isPath := strings.Contains(name, "/") && naming.MatchesPath(name, s.Path)
	return naming.Matches(name, own) || isPath || naming.Matches(name, s.Path)
}

// coversLeftOut reports whether the selector names a piece that was left out.
func (s selector) coversLeftOut(l *explain.LeftOut) bool {
	kindFits := s.Kind == "" || l.Kind == s.Kind
	sourceFits := s.Source == "" || naming.Matches(s.Source, l.Name) || naming.Matches(s.Source, l.Step)
	return kindFits && sourceFits && (s.Name == "" || naming.Matches(s.Name, l.Name))
}

// comesFrom reports whether a text, by its way, has a source in it: as a copy, or as an input of its computation.
// A text that a step has passed on comes from it too; the last station is the place of the text, and only counts
// if it has made the text or put it in.
func comesFrom(way []explain.Source, source string) bool {
	for i := range way {
		s := &way[i]
		if i == 0 && isOrigin(s, source) || i > 0 && isStation(s, source) {
			return true
		}
		isPassedOn := s.Kind == explain.SourceStep && s.Call != "" && i < len(way)-1
		if isPassedOn && namesStep(s, source) {
			return true
		}
	}
	return false
}

var itemNumber = regexp.MustCompile(`\[\d+\]`)

// namesStep reports whether a source is a step, one that it runs in, or its call: each is each[3] too, and outer is
// outer/inner.
func namesStep(s *explain.Source, source string) bool {
	if s.Call != "" && naming.Matches(source, s.Call) {
		return true
	}
	isInside := strings.HasPrefix(s.Step, source+"/") || strings.HasPrefix(s.Step, source+"[")
	all := itemNumber.ReplaceAllString(s.Step, "")
	return naming.Matches(source, s.Step) || isInside || naming.Matches(source, all) || strings.HasPrefix(all, source+"/")
}

// isOrigin reports whether the beginning of a way is a source.
func isOrigin(s *explain.Source, source string) bool {
	for _, name := range s.From {
		if namesSource(name, source) {
			return true
		}
	}
	for i := range s.Origins {
		if isOrigin(&s.Origins[i], source) {
			return true
		}
	}
	switch s.Kind { //nolint:exhaustive // the others have names alone
	case explain.SourceTool, explain.SourceModel, explain.SourceMemory, explain.SourceUser, explain.SourceClock:
		if source == string(s.Kind) {
			return true
		}
	case explain.SourceStep:
		return namesStep(s, source)
	case explain.SourceFlow:
		return naming.MatchesPath(source, s.File)
	}
	return isBelow(s.Name, source) || isStation(s, source)
}

// mayComeFrom reports whether a text, by its way, may come from a source although no call says so. For example, it
// may come from something that the step ran inside itself, such as the rounds of an agent.
func mayComeFrom(way []explain.Source, source string) bool {
	if len(way) > 0 && way[0].Kind == explain.SourceStep {
		step, inside := itemNumber.ReplaceAllString(way[0].Step, ""), itemNumber.ReplaceAllString(source, "")
		if strings.HasPrefix(inside, step+"/") {
			return true
		}
	}
	for i := range way {
		for j := range way[i].Possible {
			if s := &way[i].Possible[j]; s.IsAnywhere() || isOrigin(s, source) {
				return true
			}
		}
	}
	return false
}

// mayCover reports whether a piece that the selector does not cover may match all the same, because its sources
// are not known.
func (s selector) mayCover(p *explain.Piece) bool {
	if s.Source == "" || p.Text == "" || comesFrom(p.Sources, s.Source) {
		return false
	}
	return s.coversPart(p.Sources) && mayComeFrom(p.Sources, s.Source)
}

// findPossible lists the pieces that may be those, in order.
func (s selector) findPossible(e *explain.Explanation) (all []found) {
	for _, f := range piecesOf(e) {
		if s.mayCover(f.piece) {
			all = append(all, f)
		}
	}
	return all
}

// undecided returns an error for the first piece that the selector may cover and that is in a message that counts;
// nil if there is none.
func (s selector) undecided(e *explain.Explanation, counts func(message int) bool) *verdict {
	for _, f := range s.findPossible(e) {
		if counts(f.message) {
			return f.undecided(s.Source)
		}
	}
	return nil
}

// wayFrom describes the way of a piece from a source, and the inputs from which a tool made it.
func (f *found) wayFrom(source string) wording.Text {
	way := f.piece.Way()
	first := &f.piece.Sources[0]
	for i := range first.Origins {
		if first.Kind == explain.SourceTool && isOrigin(&first.Origins[i], source) {
			return wording.Say("its way: %s; the tool %s made it of %s", way, first.Name, first.Origins[i].Text())
		}
	}
	return wording.Say("its way: %s", way)
}

// everywhere counts all messages.
func everywhere(int) bool { return true }

// undecided returns an error for a piece that may come from a source.
func (f *found) undecided(source string) *verdict {
	failed := errorOf(calls.Errorf(calls.Missing, "cannot be decided: a text in %s may come from %s: %q",
		f.place(), source, value.Truncate(f.piece.Text, maxShown)))
	failed.hint = wording.Say("its way: %s", f.piece.Way())
	failed.piece = f.ref()
	return failed
}

// isStation reports whether a station after the origin is a source: a file that a step has read, or a step that
// has put the text in.
func isStation(s *explain.Source, source string) bool {
	if naming.MatchesPath(source, s.Path) {
		return true
	}
	return s.Kind == explain.SourcePart && (naming.Matches(source, s.Step) || naming.Matches(source, s.Part))
}

// isBelow reports whether a name is the name of a source, of something in it, or of a whole that it is a part of.
// For example, inputs.user.name is below inputs.user.
func isBelow(name, source string) bool {
	if name == "" {
		return false
	}
	inside := strings.HasPrefix(name, source+".") || strings.HasPrefix(name, source+"[")
	around := strings.HasPrefix(source, name+".") || strings.HasPrefix(source, name+"[")
	return naming.Matches(source, name) || inside || around
}

// namesSource reports whether a name that a text was computed from is a source: inputs.question, fetch (http),
// the tool lookup, file prices.json (flow.yaml:3:1).
func namesSource(name, source string) bool {
	if isBelow(name, source) {
		return true
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" ():,", r) })
	for _, word := range words {
		if isBelow(word, source) {
			return true
		}
	}
	return false
}

// found is a piece with its place.
type found struct {
	prompt *explain.Explanation
	// message is the index of its message; the texts beside the messages are counted after these.
	message int
	// index counts the pieces of the prompt; start is its first byte in the message.
	index, start int
	piece        *explain.Piece
}

// ref names the piece in a result.
func (f *found) ref() pieceRef { return pieceOf(f.prompt, f.message, f.piece) }

// role returns the role of its message.
func (f *found) role() string { return roleAt(f.prompt, f.message) }

// place returns the place of the piece, as messages name it.
func (f *found) place() wording.Text { return placeText(f.prompt, f.message) }

// piecesOf lists the pieces of a prompt, in order; those beside its messages are the last.
func piecesOf(e *explain.Explanation) (all []found) {
	for m := range e.Messages {
		start := 0
		for i := range e.Messages[m].Pieces {
			p := &e.Messages[m].Pieces[i]
			all = append(all, found{e, m, len(all), start, p})
			start += len(p.Text)
		}
	}
	for b := range e.Beside {
		start := 0
		for i := range e.Beside[b].Pieces {
			p := &e.Beside[b].Pieces[i]
			all = append(all, found{e, len(e.Messages) + b, len(all), start, p})
			start += len(p.Text)
		}
	}
	return all
}

// find lists the pieces that the selector covers, in order.
func (s selector) find(e *explain.Explanation) (all []found) {
	for _, f := range piecesOf(e) {
		if s.covers(f.piece) {
			all = append(all, f)
		}
	}
	return all
}

// checkSelector reports a selector that names every piece, or that no piece can match.
func checkSelector(a *argument, below string, s selector) bool {
	return checkPart(a, below, s) && a.holds(below+"/source", a.scope.knownNames().CheckSource(a.subject.step, s.Source))
}

// checkPart is checkSelector without the source.
func checkPart(a *argument, below string, s selector) bool {
	if strings.Trim(s.Kind+s.Name+s.Source, "*") == "" {
		a.report(below, wording.Say("it names no piece"), wording.Say("give kind, name or source"))
		return false
	}
	names := a.scope.knownNames()
	if !a.holds(below+"/kind", names.CheckKind(s.Kind)) {
		return false
	}
	isContent := a.prefix != "" || below == "/of" // it passes if there is no such piece; others fail then, and list the pieces that exist
	return !isContent || a.holds(below+"/name", names.CheckPiece(s.Kind, s.Name))
}
