package scheduler

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// readEither reads a text as the value of one of several places: me@x.org as /email, rather than as the free text
// /phone, and "phone: 123" as /phone. The error, of kind Invalid, tells that the text fits none of them, or several.
func readEither(w *journal.WaitingFor, either []journal.AskedPlace, text string) (Answer, error) {
	var exact, free []Answer
	for _, place := range either {
		s, err := schema.Parse(schema.Within(w.RemainingSchema, place.Schema))
		if err != nil {
			continue
		}
		answer := Answer{Step: w.Step, Pointer: place.Pointer}
		if named, ok := cutName(place, text); ok {
			answer.Value, err = ReadText(s, named)
			if err == nil {
				return answer, nil
			}
		}
		answer.Value, err = ReadText(s, text)
		switch {
		case err != nil:
		case place.IsFreeText():
			free = append(free, answer)
		default:
			exact = append(exact, answer)
		}
	}
	switch {
	case len(exact) == 1:
		return exact[0], nil
	case len(exact) == 0 && len(free) == 1:
		return free[0], nil
	}
	return Answer{}, calls.Errorf(calls.Invalid, "the message does not answer what the step %s waits for", w.Step)
}

// cutName returns the text behind the name or the title of a place and a colon.
func cutName(place journal.AskedPlace, text string) (rest string, ok bool) {
	name, rest, ok := strings.Cut(strings.ReplaceAll(text, "：", ":"), ":")
	title, _ := place.Schema.Get("title")
	spaced := strings.NewReplacer("_", " ", "-", " ").Replace
	name = spaced(strings.TrimSpace(name))
	isNamed := strings.EqualFold(name, spaced(place.Name())) || strings.EqualFold(name, spaced(plainText(title)))
	return strings.TrimSpace(rest), ok && isNamed && rest != ""
}

func plainText(v value.Value) string {
	text, _ := v.Str()
	return text
}
