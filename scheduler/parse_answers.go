package scheduler

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// ParseAnswer reads an answer as people type it, STEP:/pointer=value. The value is typed by the remaining schema:
// a string if the schema wants one, else JSON. The error is of kind Invalid and describes the expected value. For
// example, book:/day=tomorrow answers the step book.
func ParseAnswer(text string, waiting []journal.WaitingFor) (Answer, error) {
	place, typed, ok := cutAnswer(text, waiting)
	if !ok {
		return Answer{}, calls.Errorf(calls.Invalid, "%q is not an answer", text).WithHint("write /pointer=value or STEP:/pointer=value")
	}
	var a Answer
	a.Pointer = place
	if !strings.HasPrefix(place, "/") {
		a.Step, a.Pointer, ok = strings.Cut(place, ":")
		if !ok && place != "" {
			return Answer{}, calls.Errorf(calls.Invalid, "%q is not a JSON pointer", place).WithHint("write /%s=%s", place, typed)
		}
	}
	w, s, err := a.findPlace(waiting)
	if err != nil {
		return Answer{}, err
	}
	a.Step = w.Step
	a.Value, err = fromText(s, typed)
	if err == nil {
		return a, nil
	}
	e := calls.Errorf(calls.Invalid, "%w", a.refusedError(err))
	if problems := (schema.Problems)(nil); !errors.As(err, &problems) || !ofType(problems) {
		return Answer{}, e
	}
	if !ofType(s.Check(value.OfList())) {
		e = e.WithHint("write the array as JSON: [...]")
	} else if !ofType(s.Check(value.OfMap(nil))) {
		e = e.WithHint("write the object as JSON: {...}")
	}
	return Answer{}, e
}

// cutAnswer parts the place from the value. A pointer may hold the equals sign as
// well.
func cutAnswer(text string, waiting []journal.WaitingFor) (place, typed string, ok bool) {
	for _, w := range waiting {
		for _, pointer := range w.Pointers() {
			for _, at := range []string{w.Step + ":" + pointer, pointer} {
				if rest, is := strings.CutPrefix(text, at+"="); is && len(at) > len(place) {
					place, typed, ok = at, rest, true
				}
			}
		}
	}
	if ok {
		return place, typed, ok
	}
	return strings.Cut(text, "=")
}

// fromText finds the value that a typed text means to a schema.
func fromText(s *schema.Schema, text string) (value.Value, error) {
	plain := value.OfString(text)
	v, err := value.ParseJSON([]byte(text))
	if err != nil || v.Kind() == value.String {
		v = plain
	}
	problems, asText := s.Check(v), s.Check(plain)
	if yes, ok := schema.YesOrNo(text); ok && problems != nil && s.Check(yes) == nil {
		return yes, nil
	}
	isText := asText == nil || ofType(problems) && !ofType(asText)
	if problems != nil && isText {
		v = plain
	}
	problems = answerProblems(s, v)
	if problems != nil {
		return v, problems
	}
	if v.Kind() != value.String {
		if _, err := value.ParseStrictJSON([]byte(text)); err != nil {
			return v, calls.Errorf(calls.Invalid, "the JSON at %w", err)
		}
	}
	return v, nil
}

// ofType reports whether a value is of another type than the schema wants.
func ofType(problems schema.Problems) bool {
	return slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Pointer == "" && p.Keyword == "type" })
}

// AnswersOf reads answers from an object: of pointers, or of names at the top of the data, if one step waits, else
// of such objects by step. For example, {"city": "Rome"} if one step waits, or {"book": {"/city": "Rome"}}.
func AnswersOf(doc value.Value, waiting []journal.WaitingFor) ([]Answer, error) {
	if doc.Kind() != value.Object {
		return nil, calls.Errorf(calls.Invalid, "answers are an object, got %s", doc.Kind())
	}
	isStep := func(name string) bool {
		return slices.ContainsFunc(waiting, func(w journal.WaitingFor) bool { return w.Step == name })
	}
	one := ""
	if len(waiting) == 1 {
		one = waiting[0].Step
	}
	var answers []Answer
	for key, v := range doc.Map().All() {
		isPlaced := isStep(key) || one != "" || strings.HasPrefix(key, "/")
		if !isPlaced && v.Kind() == value.Object {
			// If several wait, it must be a step: CheckAnswers reports that it does not exist.
			answers = append(answers, Answer{Step: key})
			continue
		}
		if !isStep(key) || v.Kind() != value.Object {
			answers = append(answers, Answer{Step: one, Pointer: pointerOf(key), Value: v})
			continue
		}
		for inner, v := range v.Map().All() {
			answers = append(answers, Answer{Step: key, Pointer: pointerOf(inner), Value: v})
		}
	}
	return answers, CheckAnswers(answers, waiting)
}

// pointerOf returns a key as a pointer: names are members of the data.
func pointerOf(key string) string {
	if key == "" || key[0] == '/' {
		return key
	}
	return "/" + value.Escape(key)
}

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
