package scheduler

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// readEither reads a text as the value of one of several places: me@x.org as /email, rather than as the free text
// /phone, and "phone: 123" as /phone. The error, of kind Invalid, says that the text fits none of them, or
// several.
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

// cutName returns the text behind a name of a place and a colon: its key, its title, or its description, for example "Order
// number: A-1042" for a place that is described as "The order number".
func cutName(place journal.AskedPlace, text string) (rest string, ok bool) {
	at := strings.IndexAny(text, ":：")
	if at < 0 {
		return "", false
	}
	name, rest := text[:at], strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(text[at:], ":"), "："))
	title, _ := place.Schema.Get("title")
	description, _ := place.Schema.Get("description")
	for _, known := range []string{place.Name(), plainText(title), plainText(description)} {
		if rest != "" && known != "" && strings.EqualFold(bareName(name), bareName(known)) {
			return rest, true
		}
	}
	return "", false
}

// bareName returns a name as people write it, without an article.
func bareName(name string) string {
	words := strings.Fields(strings.NewReplacer("_", " ", "-", " ").Replace(strings.TrimRight(name, ".。")))
	if len(words) > 1 && slices.Contains([]string{"the", "a", "an", "my", "your"}, strings.ToLower(words[0])) {
		words = words[1:]
	}
	return strings.Join(words, " ")
}

func plainText(v value.Value) string {
	text, _ := v.Str()
	return text
}
