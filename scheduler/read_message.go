package scheduler

import (
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// readMessages returns the answers with messages replaced by values if they are one: for example "7" for a number,
// "是" for a yes, the words of a choice. The others stay messages, which the calls of their steps read when the run
// continues. The error is of kind Invalid if no call would.
func (e *StepExecutor) readMessages(r *run, state *journal.RunState, answers []Answer) ([]Answer, error) {
	read := slices.Clone(answers)
	var added []Answer
	for i, a := range read {
		if a.Message == "" {
			continue
		}
		if !state.TakesAnswers() { // it was cancelled, or failed
			return nil, calls.Errorf(calls.Invalid, "the run %s does not wait any more: it is %s", r.vars.Run.ID, state.State)
		}
		if a.Seen != 0 && a.Seen != state.LastSeq {
			return nil, calls.Errorf(calls.Invalid, "the run %s went on since the user was asked", r.vars.Run.ID).WithHint("look at what it asks now")
		}
		w, err := a.findAsked(state.Waiting)
		if err != nil {
			return nil, err
		}
		a.Step = w.Step
		if w.Approval != nil {
			leave, err := readLeave(w, a)
			if err != nil {
				return nil, err
			}
			read[i], added = leave[0], append(added, leave[1:]...)
			continue
		}
		canRead := e.canReadMessage(r, state.Step(w.Step), a.Message)
		typed, isValue := e.readTyped(r, state, w, a)
		isValue = isValue && !a.isNoValue(w, typed.Pointer, canRead)
		switch {
		case isValue:
			read[i] = typed
		case canRead && strings.TrimSpace(a.Message) != "":
			read[i] = Answer{Step: w.Step, Message: a.Message}
		default:
			return nil, calls.Errorf(calls.Invalid, "the message does not answer what the step %s waits for", w.Step)
		}
	}
	return append(read, added...), nil
}

// findAsked returns the step that a message is for: of several, the first that waits.
func (a Answer) findAsked(waiting []journal.WaitingFor) (*journal.WaitingFor, error) {
	if a.Step == "" && len(waiting) > 0 {
		return &waiting[0], nil
	}
	return a.findWaiter(waiting)
}

// canReadMessage reports whether the call of a step that waits, or the one that fills its parameters, reads
// messages of the user, and has a model to do it with.
func (e *StepExecutor) canReadMessage(r *run, st *journal.StepState, message string) bool {
	def, ok := e.registry().Call(st.Call)
	if !ok || !calls.HasProvider(r.env.LLM) {
		return false // a question inside a call has no call of its own
	}
	if def.TakeMessage == nil {
		def, ok = e.registry().Call(flow.CallSlot)
		if !ok || def.TakeMessage == nil {
			return false
		}
		_, ok = def.TakeMessage(value.OfMap(nil), "", message)
		return ok
	}
	_, ok = def.TakeMessage(st.Params, "", message)
	return ok
}

// readTyped reads a message as the value of the place that was asked for.
func (e *StepExecutor) readTyped(r *run, state *journal.RunState, w *journal.WaitingFor, a Answer) (Answer, bool) {
	typed := Answer{Step: w.Step, Pointer: a.Pointer}
	place := w.Place(a.Pointer)
	if a.Pointer == "" {
		place = w.AskedPlace()
		typed.Pointer = place.Pointer
	}
	isObject := strings.HasPrefix(strings.TrimSpace(a.Message), "{")
	if a.Pointer == "" && isObject {
		typed.Pointer = w.Pointers()[0] // JSON is meant for the whole place, not for a member of it
	}
	if len(place.Either) > 0 && !isObject {
		var err error
		typed, err = readEither(w, place.Either, a.Message)
		isRead := err == nil && e.checkAnswersWithSlot(r, state, answerEvents([]Answer{typed})) == nil
		return typed, isRead
	}
	_, s, err := typed.findPlace(state.Waiting)
	if err != nil {
		return a, false
	}
	text := a.Message
	if named, ok := cutName(w.Place(typed.Pointer), text); ok {
		text = named
	}
	typed.Value, err = ReadText(s, text)
	if err != nil {
		return a, false
	}
	notes := answerEvents([]Answer{typed})
	return typed, e.checkAnswersWithSlot(r, state, notes) == nil
}

// isNoValue reports whether a message that fits its place is still not a value: any text fits the place, and this
// one is a refusal ("skip", "why?"). With a model that reads it, it may also be a sentence ("It is Lin") or
// several values, unless a field of a form holds it. After the model has found nothing, the text is the value if
// it names the place ("name: Lin"), or if it is repeated and by its beginning and end is neither a question nor a
// refusal.
func (a Answer) isNoValue(w *journal.WaitingFor, pointer string, canRead bool) bool {
	place := w.Place(pointer)
	if asked := w.AskedPlace(); asked.Pointer == pointer {
		place = asked
	}
	if !place.IsFreeText() {
		return false
	}
	isNone := schema.IsNoAnswer(a.Message) || schema.IsQuestion(a.Message) || schema.IsDenial(a.Message)
	switch {
	case !canRead:
		return schema.IsNoAnswer(a.Message)
	case a.InField:
		return isNone
	}
	_, isNamed := cutName(place, a.Message)
	isSaidAgain := strings.TrimSpace(w.Said) == strings.TrimSpace(a.Message)
	return !w.Unread || !isNamed && (!isSaidAgain || isNone)
}

// ErrLeftOut means that a person leaves an optional field out, ErrBlank that a field that needs a value has none.
var (
	ErrLeftOut error = wording.Errorf("left out")
	ErrBlank   error = calls.Errorf(calls.Invalid, "a value is needed")
)

// ReadField returns an answer whose Message was typed into a field, of a form or on a terminal: an empty text is the default of
// the place, or leaves an optional one out. The error is [ErrLeftOut] or [ErrBlank].
func ReadField(a Answer, place value.Value, isOptional bool) (Answer, error) {
	if strings.TrimSpace(a.Message) != "" {
		return a, nil
	}
	a.Message = ""
	def, hasDefault := place.Get("default")
	isText := schema.TypeName(place) == "string"
	switch {
	case hasDefault:
		a.Value = def
	case isOptional:
		return a, ErrLeftOut
	case isText && schema.TakesBlank(place):
		a.Value = value.OfString("")
	default:
		return a, ErrBlank
	}
	return a, nil
}

// ReadText finds the value that a text means to a schema, as people write it: a number, a date, yes or 是, the
// words, the label or the number of a choice, a list with commas. The error says why it is not a value.
func ReadText(s *schema.Schema, text string) (value.Value, error) {
	text = strings.TrimSpace(text)
	v, err := readChoice(s, text)
	if err == nil {
		return v, nil
	}
	if text == "" || text == `""` {
		if schema.TakesBlank(placeOf(s)) {
			return value.OfString(""), nil
		}
		return value.Value{}, calls.Errorf(calls.Invalid, "a value is needed")
	}
	v, err = fromText(s, text)
	if err == nil {
		return v, nil
	}
	for _, read := range []func(*schema.Schema, string) (value.Value, bool){readList, readPairs} {
		if several, ok := read(s, text); ok && answerProblems(s, several) == nil {
			return several, nil
		}
	}
	if plain := strings.TrimRight(text, ".!。！"); plain != text && plain != "" {
		if v, plainErr := ReadText(s, plain); plainErr == nil {
			return v, nil
		}
	}
	return v, err
}

// ReadAnswer reads a text as the value of the answer's place. The error, of kind Invalid, says why it is not a
// value.
func ReadAnswer(a Answer, waiting []journal.WaitingFor) (Answer, error) {
	w, s, err := a.findPlace(waiting)
	if err != nil {
		return a, err
	}
	isObject := strings.HasPrefix(strings.TrimSpace(a.Message), "{")
	if either := w.Place(a.Pointer).Either; len(either) > 0 && !isObject {
		return readEither(w, either, a.Message)
	}
	v, err := ReadText(s, a.Message)
	if err != nil {
		return a, calls.Errorf(calls.Invalid, "%w", a.refusedError(err))
	}
	return Answer{Step: w.Step, Pointer: a.Pointer, Value: v}, nil
}

// readChoice finds the choice that a text means; an error if the schema lists none, or the text means none. For
// example, "2" or "large" for the second of small, large.
func readChoice(s *schema.Schema, text string) (value.Value, error) {
	place := placeOf(s)
	if found, ok := schema.FindChoice(schema.Choices(place), text); ok {
		return found.Value, nil
	}
	return value.Value{}, calls.Errorf(calls.Invalid, "it is none of the choices")
}

// placeOf returns the schema of a place that [schema.Within] has put into a document.
func placeOf(s *schema.Schema) value.Value {
	list, _ := s.Doc().Get("allOf")
	if len(list.List()) == 0 {
		return s.Doc()
	}
	return schema.Resolve(list.List()[0], s.Doc())
}

// readList reads the items of an array between commas; not if they are other than plain values.
func readList(s *schema.Schema, text string) (value.Value, bool) {
	place := placeOf(s)
	items, _ := place.Get("items")
	items = schema.Resolve(items, s.Doc())
	isPlain := schema.TypeName(items) != "object" && schema.TypeName(items) != "array"
	if schema.TypeName(place) != "array" || !isPlain {
		return value.Value{}, false
	}
	item, err := schema.Parse(schema.Within(s.Doc(), items))
	if err != nil {
		return value.Value{}, false
	}
	list, ok := readItems(item, cutAtCommas(text))
	if !ok { // "red and blue", if that is not an item itself
		list, ok = readItems(item, cutAtCommas(joinedWords.ReplaceAllString(text, ",")))
	}
	return value.OfList(list...), ok
}

// joinedWords matches words between the last two items of a list.
var joinedWords = regexp.MustCompile(`\s+(?:and|or|&)\s+|\s*(?:和|与|以及|还有)\s*`)

// cutAtCommas returns the pieces of a text between commas, in Chinese too.
func cutAtCommas(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",，、;；\n", r) })
}

// readItems reads each text as an item of a list.
func readItems(item *schema.Schema, texts []string) (list []value.Value, ok bool) {
	for _, one := range texts {
		v, err := ReadText(item, one)
		if err != nil {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// readPairs reads "colour: red, size: 3" as an object whose members the schema does not name.
func readPairs(s *schema.Schema, text string) (value.Value, bool) {
	place := placeOf(s)
	named, _ := place.Get("properties")
	if schema.TypeName(place) != "object" || named.Map().Len() > 0 {
		return value.Value{}, false
	}
	each, _ := place.Get("additionalProperties")
	if each.Kind() != value.Object {
		each = value.OfMap(nil)
	}
	member, err := schema.Parse(schema.Within(s.Doc(), each))
	if err != nil {
		return value.Value{}, false
	}
	pairs := value.NewMap(2)
	for _, one := range cutAtCommas(text) {
		name, typed, ok := strings.Cut(strings.ReplaceAll(one, "：", ":"), ":")
		name = strings.TrimSpace(name)
		v, err := ReadText(member, typed)
		if !ok || name == "" || err != nil {
			return value.Value{}, false
		}
		pairs.Set(name, v)
	}
	return value.OfMap(pairs), pairs.Len() > 0
}
