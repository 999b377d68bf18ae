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
	// Reasons are why the values are unknown, where something went wrong: a model that
	// failed, an answer that did not fit.
	Reasons []string `json:"reasons,omitempty"`
	// Whole is the schema of all that the step may be told, optional fields as well.
	// Only [Fold] knows it.
	Whole value.Value `json:"-"`
}

// maxReasons bounds how many reasons there are for one step.
const maxReasons = 8

// maxQuoted is how much of a text messages show, in characters.
const maxQuoted = 80

// NewWaitingFor returns a step that waits, with what slot put out before it did; the reasons
// are in the language.
func NewWaitingFor(language, step string, found, remaining value.Value) WaitingFor {
	w := WaitingFor{Step: step, RemainingSchema: remaining}
	add := func(reason string) {
		if len(w.Reasons) < maxReasons && !slices.Contains(w.Reasons, reason) {
			w.Reasons = append(w.Reasons, reason)
		}
	}
	told := map[string]bool{}
	rejected, _ := found.Get("rejected")
	for _, one := range rejected.List() {
		if pointer, reason := Rejection(one); slices.Contains(w.Pointers(), pointer) {
			given, _ := one.Get("value")
			add(wording.Say("%s: %s was not taken: %s", pointerName(pointer), value.Truncate(given.JSON(), maxQuoted), reason).In(language))
			told[pointer] = true
		}
	}
	for _, pointer := range w.Pointers() {
		if !told[pointer] {
			if reason := w.misfitReason(pointer, found).In(language); reason != "" {
				add(reason)
			}
		}
	}
	warnings, _ := found.Get("warnings")
	for _, warning := range warnings.List() {
		if text, ok := warning.Str(); ok {
			add(text)
		}
	}
	return w
}

// misfitReason returns why a place is asked for that has a value: one that was wrong from the
// beginning, or an answer that fits no more since others came.
func (w *WaitingFor) misfitReason(pointer string, found value.Value) (reason wording.Text) {
	data, _ := found.Get("slot_data")
	have, has := data.At(pointer)
	isEmptyObject := have.Kind() == value.Object && have.Map().Len() == 0
	isEmptyList := have.Kind() == value.List && len(have.List()) == 0
	isEmpty := have.IsNull() || isEmptyObject || isEmptyList
	if !has || isEmpty {
		return reason
	}
	properties, _ := w.RemainingSchema.Get("properties")
	property, _ := properties.Get(pointer)
	s, err := schema.Parse(schema.Within(w.RemainingSchema, property))
	if err != nil {
		return reason
	}
	problems := s.Check(have)
	if len(problems) == 0 {
		return reason
	}
	format := "%s: the value %s does not fit: %v"
	sources, _ := found.Get("sources")
	for at := pointer; ; at = at[:strings.LastIndexByte(at, '/')] {
		if source, given := sources.Get(at); given || at == "" {
			if who, _ := source.Str(); who == "user" {
				format = "%s: the earlier answer %s does not fit: %v"
			}
			break
		}
	}
	return wording.Say(format, pointerName(pointer), value.Truncate(have.JSON(), maxQuoted), problems[0])
}

// pointerName returns a pointer in a message: that of the whole would not be seen.
func pointerName(pointer string) string { return cmp.Or(pointer, `""`) }

// Rejection returns one of the answers that slot did not take.
func Rejection(v value.Value) (pointer, reason string) {
	at, _ := v.Get("pointer")
	why, _ := v.Get("reason")
	pointer, _ = at.Str()
	reason, _ = why.Str()
	return pointer, reason
}

// String returns the step and the pointers of what it waits for.
func (w WaitingFor) String() string { return w.Name().En }

// Name is String in the built-in languages.
func (w WaitingFor) Name() wording.Text {
	return wording.Say("%s for %s", w.Step, strings.Join(w.Pointers(), ", "))
}

// Pointers returns the places that values are wanted for, as JSON pointers into the
// step's data; "" is the data as a whole.
func (w WaitingFor) Pointers() []string {
	properties, _ := w.RemainingSchema.Get("properties")
	return properties.Map().Keys()
}
