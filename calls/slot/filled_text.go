package slot

import (
	"iter"

	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/slot/extract"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// filledText streams the data of a step that talks to the user while they are filled. Its
// pieces, joined, are the JSON of slot_data with the members in the order in which they
// became known, for example {"unit":"C" ,"city":"Rome" }. [Params.Exec] creates it; one
// goroutine uses it. A nil one says nothing.
type filledText struct {
	// yield takes a piece, and reports whether the user still listens.
	yield  func(piece string) bool
	said   *value.Map
	isOpen bool
}

// sayKnown says the members that are there and right, and were not said yet. As long as the
// data is wrong as a whole, in no branch of a union for example, nothing in it is known to be
// right.
func (t *filledText) sayKnown(f *processor.Filling) error {
	if t == nil {
		return nil
	}
	wrong := map[string]bool{}
	properties, _ := f.Remaining().Get("properties")
	for pointer := range properties.Map().All() {
		tokens, _ := value.SplitPointer(pointer)
		if len(tokens) == 0 {
			return nil
		}
		wrong[tokens[0]] = true
	}
	return t.sayMembers(f.Data(), wrong)
}

// sayMembers says the members that were not said yet, but for some.
func (t *filledText) sayMembers(data value.Value, but map[string]bool) error {
	for name, v := range data.Map().All() {
		if _, isSaid := t.said.Get(name); isSaid || but[name] {
			continue
		}
		t.said.Set(name, v)
		if err := t.sayPiece(value.OfString(name).JSON() + ":" + v.JSON()); err != nil {
			return err
		}
	}
	return nil
}

// sayPiece says a member of the object, after the bracket or the comma before it.
func (t *filledText) sayPiece(member string) error {
	before := ","
	if !t.isOpen {
		t.isOpen, before = true, "{"
	}
	return t.sayText(before + member)
}

func (t *filledText) sayText(text string) error {
	if !t.yield(text) {
		return errAbandoned
	}
	return nil
}

// sayRest ends the object with the members that were not said, wrong ones included. If a
// later answer has changed one that was said, the whole follows on a line of its own.
func (t *filledText) sayRest(data value.Value) error {
	if t == nil {
		return nil
	}
	if data.Kind() != value.Object {
		return t.sayText(data.JSON())
	}
	for name, said := range t.said.All() {
		if v, _ := data.Get(name); !value.Equal(v, said) {
			return t.sayText("}\n" + data.JSON())
		}
	}
	if err := t.sayMembers(data, nil); err != nil {
		return err
	}
	if !t.isOpen {
		return nil // nothing is known: {} would not help the user
	}
	return t.sayText("}")
}

// maxTried bounds how many members of one answer are tried before the whole is there.
const maxTried = 100

// collectSaying returns how the answers of a stage are collected: as [collectAnswer] does, while
// their members that fit are said.
func (w *Work) collectSaying(source processor.Source) func(iter.Seq2[llm.Delta, error]) (llm.Answer, error) {
	if w.filled == nil {
		return collectAnswer
	}
	return func(deltas iter.Seq2[llm.Delta, error]) (llm.Answer, error) {
		trial, tried := w.Filling.Clone(), 0
		return collectAnswer(watch(deltas, func(member value.Value) error {
			tried++
			if tried > maxTried {
				return nil
			}
			trial.Take(member, source)
			return w.filled.sayKnown(trial)
		}))
	}
}

// watch passes deltas on and shows each member of the object in them, in the text after the
// model's thoughts or in the arguments of its first tool call, once it is there.
func watch(deltas iter.Seq2[llm.Delta, error], see func(member value.Value) error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		isRead := true
		var spoken, called extract.Members
		seeAll := func(members []value.Value) bool {
			for _, member := range members {
				if err := see(member); err != nil {
					if isRead {
						yield(llm.Delta{}, err)
					}
					return false
				}
			}
			return true
		}
		passed := func(next func(llm.Delta, error) bool) {
			for d, err := range deltas {
				isRead = yield(d, err)
				if !isRead || !seeAll(called.Add(argumentsOf(d))) || !next(d, err) {
					return
				}
			}
		}
		for text, err := range ask.Text(passed) {
			if err != nil || !seeAll(spoken.Add(text)) {
				return // the reader of the deltas has the error
			}
		}
	}
}

// argumentsOf returns the next piece of the arguments of the first tool call.
func argumentsOf(d llm.Delta) (piece string) {
	for _, call := range d.ToolCalls {
		if call.Index == 0 {
			piece += call.Arguments
		}
	}
	return piece
}
