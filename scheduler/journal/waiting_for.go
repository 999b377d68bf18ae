package journal

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// WaitingFor is a step, or an item of one, that waits for its parameters.
type WaitingFor struct {
	Step            string      `json:"step"`
	RemainingSchema value.Value `json:"remaining_schema"`
	// Approval is set if the step waits for the leave of a person: the answer to /approved is yes or no.
	Approval *Approval `json:"approval,omitempty"`
	// Reasons says why the values are unknown, if something went wrong: a model that failed, an answer that did not
	// fit.
	Reasons []string `json:"reasons,omitempty"`
	// Why has, for each place without a value, the reason, in the order of the places. Runs that were recorded before
	// it was known have none.
	Why []MissingValue `json:"why,omitempty"`
	// Unread is set if the user has just answered with a message that has none of the values.
	Unread bool `json:"unread,omitempty"`
	// Said is that message, and Misfit the value for the first place that was found in it and did not fit; null for none.
	// Only [Fold] knows them.
	Said   string      `json:"-"`
	Misfit value.Value `json:"-"`
	// Misses counts the messages in a row that had none of the values. Only [Fold] knows it.
	Misses int `json:"-"`
	// Question asks a person for the first of the values, in the words of the project. The use case that shows the
	// run makes it; no event has it.
	Question string `json:"question,omitempty"`
	// Item is the item of the for_each that the step is for; of several around each other, the innermost. Only [Fold] knows it.
	Item AskedItem `json:"-"`
	// Whole is the schema of all that may be given to the step, including optional fields. Only [Fold] knows it.
	Whole value.Value `json:"-"`
}

// MissingValue is why a value is asked for, in the built-in languages. [NewWaitingFor] makes it; it is
// only data.
type MissingValue struct {
	Pointer string `json:"pointer"`
	En      string `json:"en"`
	Zh      string `json:"zh"`
}

// maxReasons limits the reasons for one step.
const maxReasons = 8

// maxQuoted is how much of a text messages show, in characters.
const maxQuoted = 80

// NewWaitingFor returns a step that waits, with the output of slot before it began to wait; the reasons are in the
// language. modelAnswered is true if a model was asked for the values and has answered.
func NewWaitingFor(language, step string, found, remaining value.Value, modelAnswered bool) WaitingFor {
	w := WaitingFor{Step: step, RemainingSchema: remaining}
	add := func(reason string) {
		if len(w.Reasons) < maxReasons && !slices.Contains(w.Reasons, reason) {
			w.Reasons = append(w.Reasons, reason)
		}
	}
	absent := wording.Say("it was not given")
	if modelAnswered {
		absent = wording.Say("it was not given, and the model did not find it")
	}
	for _, pointer := range w.Pointers() {
		reasons := w.rejectionReasons(pointer, found)
		if misfit := w.misfitReason(pointer, found); len(reasons) == 0 && misfit.En != "" {
			reasons = append(reasons, misfit)
		}
		for _, reason := range reasons {
			name := pointerName(pointer)
			add(wording.Text{En: name + ": " + reason.En, Zh: name + "：" + reason.Zh}.In(language))
		}
		if len(reasons) == 0 {
			reasons = append(reasons, absent)
		}
		why := wording.Join(reasons, "; ", "；")
		w.Why = append(w.Why, MissingValue{pointer, why.En, why.Zh})
	}
	warnings, _ := found.Get("warnings")
	for _, warning := range warnings.List() {
		if text, ok := warning.Str(); ok {
			add(text)
		}
	}
	return w
}

// rejectionReasons returns why the answers for a place were not taken.
func (w *WaitingFor) rejectionReasons(pointer string, found value.Value) (reasons []wording.Text) {
	rejected, _ := found.Get("rejected")
	for _, one := range rejected.List() {
		at, reason := Rejection(one)
		if at != pointer || len(reasons) == maxReasons {
			continue
		}
		given, _ := one.Get("value")
		reasons = append(reasons, wording.Say("%s was not taken: %s", value.Truncate(given.JSON(), maxQuoted), w.rejectionText(pointer, given, reason)))
	}
	return reasons
}

// rejectionText returns a reason of slot, which is in the language of the run: in both languages, and without the
// place, if it repeats a problem by the schema of the place.
func (w *WaitingFor) rejectionText(pointer string, given value.Value, reason string) wording.Text {
	for _, problem := range w.problemsAt(pointer, given) {
		text := textOf(problem)
		problem.Pointer = pointer + problem.Pointer
		if whole := textOf(problem); reason == whole.En || reason == whole.Zh {
			return text
		}
	}
	return wording.Same(reason)
}

// problemsAt returns the problems of a value at a place.
func (w *WaitingFor) problemsAt(pointer string, v value.Value) schema.Problems {
	properties, _ := w.RemainingSchema.Get("properties")
	property, _ := properties.Get(pointer)
	s, err := schema.Parse(schema.Within(w.RemainingSchema, property))
	if err == nil {
		return s.Check(v)
	}
	return nil // slot made the schema: one that does not compile has types that only slot knows
}

// textOf returns a problem in the built-in languages.
func textOf(p schema.Problem) wording.Text { return wording.Text{En: p.In("en"), Zh: p.In("zh")} }

// misfitOf returns the last value that was found for the place that is asked for first, and not taken; null for none.
func (w *WaitingFor) misfitOf(output value.Value) (misfit value.Value) {
	place := w.AskedPlace()
	asked := place.Pointer
	title, _ := place.Schema.Get("title")
	rejected, _ := output.Get("rejected")
	for _, one := range rejected.List() {
		found, _ := one.Get("value")
		isUnknown := found.Kind() == value.String && schema.IsUnknown(found.PlainText(), place.Name(), title.PlainText())
		if at, _ := Rejection(one); at == asked && !isUnknown {
			misfit = found
		}
	}
	return misfit
}

// misfitReason returns why a place with a value is requested: the value was wrong from the beginning, or an answer
// no longer fits because of later ones.
func (w *WaitingFor) misfitReason(pointer string, found value.Value) (reason wording.Text) {
	data, _ := found.Get("slot_data")
	have, has := data.At(pointer)
	isEmptyObject := have.Kind() == value.Object && have.Map().Len() == 0
	isEmptyList := have.Kind() == value.List && len(have.List()) == 0
	isEmpty := have.IsNull() || isEmptyObject || isEmptyList
	if !has || isEmpty {
		return reason
	}
	problems := w.problemsAt(pointer, have)
	if len(problems) == 0 {
		return reason
	}
	format := "the value %s does not fit: %v"
	sources, _ := found.Get("sources")
	for at := pointer; ; at = at[:strings.LastIndexByte(at, '/')] {
		if source, given := sources.Get(at); given || at == "" {
			if who, _ := source.Str(); who == "user" {
				format = "the earlier answer %s does not fit: %v"
			}
			break
		}
	}
	return wording.Say(format, value.Truncate(have.JSON(), maxQuoted), problems[0])
}

// pointerName returns a pointer in a message: the empty pointer of the whole would not be seen.
func pointerName(pointer string) string { return cmp.Or(pointer, `""`) }

// Rejection takes apart one of the answers that slot did not take.
func Rejection(v value.Value) (pointer, reason string) {
	at, _ := v.Get("pointer")
	why, _ := v.Get("reason")
	pointer, _ = at.Str()
	reason, _ = why.Str()
	return pointer, reason
}

// String returns the step and the pointers of the values it waits for.
func (w WaitingFor) String() string { return w.Name().En }

// Name is String in the built-in languages.
func (w WaitingFor) Name() wording.Text {
	if w.Approval != nil {
		return wording.Say("%s for the leave of a person", w.Step)
	}
	return wording.Say("%s for %s", w.Step, strings.Join(w.Pointers(), ", "))
}

// Without returns the step that waits without the places that there are answers for, by pointer.
func (w WaitingFor) Without(answers value.Value) WaitingFor {
	properties, _ := w.RemainingSchema.Get("properties")
	open := properties.Map().Clone()
	for pointer := range answers.Map().All() {
		open.Delete(pointer)
	}
	if open.Len() == 0 || open.Len() == properties.Map().Len() {
		return w
	}
	m := w.RemainingSchema.Map().Clone()
	m.Set("properties", value.OfMap(open))
	w.RemainingSchema = value.OfMap(m)
	return w
}

// Pointers returns the places that values are wanted for, as JSON pointers into the
// step's data; "" is the data as a whole.
func (w WaitingFor) Pointers() []string {
	properties, _ := w.RemainingSchema.Get("properties")
	return properties.Map().Keys()
}
