package check

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/linediff"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
)

// snapshotMatchers lists the matcher that compares with kept snapshots.
func snapshotMatchers() []matcher {
	m := define("snapshot", wording.Text{En: "The subject is as it was when it was kept with --update: of a prompt, texts and sources, and what is sent beside them. The value names the snapshot.", Zh: "对象与用 --update 保存时相同；提示词比较文本、来源，以及随之发送的其他内容。值为快照的名称。"}, textSubjects, buildSnapshot)
	m.cannotNegate, m.takesName = true, true
	return []matcher{m}
}

// snapshotWant is the name of the snapshot; "" for the subject's own name.
type snapshotWant struct{ name string }

// JSONSchema returns the schema of a name, and of true.
func (snapshotWant) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("anyOf", value.OfList(
		value.OfMap(value.Pairs("const", true)), value.OfMap(value.Pairs("type", "string", "minLength", 1)),
	)))
}

// DecodeValue reads both forms.
func (w *snapshotWant) DecodeValue(v value.Value) error {
	w.name, _ = v.Str()
	return nil
}

func buildSnapshot(want snapshotWant, a *argument) test {
	at := a.at(a.pointer)
	return func(_ context.Context, of *subject) *verdict {
		kept := of.of.Services.Snapshots
		if kept == nil {
			return errorOf(calls.Errorf(calls.Missing, "there is no place for snapshots here"))
		}
		name := of.of.Case + ": " + of.String()
		if want.name != "" && want.name != string(of.kind) {
			name = of.of.Case + ": " + want.name
		}
		name, text := of.of.Services.mask(name), of.of.Services.mask(of.snapshotText())
		saved, err := kept.Save(name, text, at)
		if err != nil {
			return errorOf(err)
		}
		if saved {
			return pass()
		}
		before, ok := kept.Load(name)
		before = of.of.Services.mask(before)
		if !ok {
			return errorOf(calls.Errorf(calls.Missing, "there is no snapshot %q yet", name).WithHint("write it with --update, and look at it before it is kept"))
		}
		if before == text {
			return pass()
		}
		failed := failf("it is not as in the snapshot %q", name).withHint("if the change is meant, write it with --update")
		failed.diff = linediff.Show(strings.Split(before, "\n"), strings.Split(text, "\n"))
		return failed
	}
}

// snapshotText returns the text that a snapshot keeps of the subject.
func (s *subject) snapshotText() string {
	if s.kind != promptSubject {
		return strings.Join(linesOf(s.value), "\n") + "\n"
	}
	var b strings.Builder
	before := "[request]\n" // one that has nothing beside the messages is not written
	for i, e := range s.prompts {
		if len(s.prompts) > 1 {
			fmt.Fprintf(&b, "== prompt %d: %s\n", i+1, e.Step)
		}
		if request := s.requestText(e); request != before {
			b.WriteString(request)
			before = request
		}
		s.of.appendPrompt(&b, e)
	}
	return b.String()
}

// requestText returns the snapshot of the request around the messages of a prompt: temperature, tools and so on.
func (s *subject) requestText(e *explain.Explanation) string {
	var b strings.Builder
	b.WriteString("[request]\n")
	req := s.requestOf(e)
	if req == nil {
		return b.String()
	}
	if v := requestValue(req, s.of.Services.mask); v.Map().Len() > 0 {
		b.WriteString("  | " + strings.Join(linesOf(v), "\n  | ") + "\n")
	}
	return b.String()
}

// appendPrompt writes a prompt for a snapshot: each message with its pieces, each of these with its source and
// text, then the request around them, and the parts that were left out with their reasons. Positions in files are
// left out: they change with every edit.
func (e *Evidence) appendPrompt(b *strings.Builder, p *explain.Explanation) {
	folder := ""
	if e.Flow != nil {
		folder = e.folderOf(e.Flow.File)
	}
	writePieces := func(pieces []explain.Piece) {
		for i := range pieces {
			fmt.Fprintf(b, "  from %s\n", snapshotWay(pieces[i].Sources, folder))
			for line := range strings.SplitSeq(pieces[i].Text, "\n") {
				b.WriteString("  | " + line + "\n")
			}
		}
	}
	for m := range p.Messages {
		fmt.Fprintf(b, "[%d] %s\n", m, p.Messages[m].Role)
		writePieces(p.Messages[m].Pieces)
	}
	for i := range p.Beside {
		text := &p.Beside[i]
		fmt.Fprintf(b, "[%s] %s\n", text.Pointer, text.Role)
		writePieces(text.Pieces)
	}
	for i := range p.LeftOut {
		l := &p.LeftOut[i]
		fmt.Fprintf(b, "left out by %s: %s %s: %s (%s)\n", l.Step, l.Kind, l.Name, l.Reason, l.Code)
	}
}

// folderOf returns the folder of a file as results call it, with a slash at its end; "" for the one that names begin in.
func (e *Evidence) folderOf(file string) string {
	if e.FileName != nil {
		file = e.FileName(file)
	}
	folder, _ := path.Split(filepath.ToSlash(file))
	return folder
}

// snapshotWay returns the stations of a way without positions. Files below the folder of the flow are named from there, so that a
// project can be moved.
func snapshotWay(way []explain.Source, folder string) string {
	names := make([]string, len(way))
	for i := range way {
		s := &way[i]
		var words []string
		for _, word := range []string{s.Step, string(s.Kind), s.Part, s.Name, s.Pointer, strings.TrimPrefix(filepath.ToSlash(s.Path), folder)} {
			if word != "" && (len(words) == 0 || words[len(words)-1] != word) {
				words = append(words, word)
			}
		}
		for _, from := range s.From {
			words = append(words, filePlace.ReplaceAllString(strings.TrimPrefix(from, folder), ""))
		}
		names[i] = strings.Join(words, " ")
	}
	return strings.Join(names, " > ")
}

// filePlace matches the line and column after the name of a file.
var filePlace = regexp.MustCompile(`:\d+:\d+`)
