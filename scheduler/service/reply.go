package service

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Runner continues runs in the background, and cancels them: a
// [github.com/callnode/scheduler/scheduler/dispatch.Dispatcher].
type Runner interface {
	Resume(ctx context.Context, p Principal, id string, with ResumeWith) error
	Cancel(ctx context.Context, p Principal, id string) error
	CountMissed(step string, seq int64) int
}

// ReplyRequest is a message that a user writes to a run that waits. Its caller makes it; it is only read.
type ReplyRequest struct {
	Run  string
	Text string
	// Step and Pointer are the place that the user was asked for; "" is the first that the run waits for.
	Step, Pointer string
	// Seen is the seq of the last event when the user was asked; 0 is the current last event.
	Seen int64
	// Wait is how long the run may wait for a slot.
	Wait time.Duration
}

// Reply is the outcome of a user's message. [Service.Reply] returns it; it is only data.
type Reply struct {
	// State is running if the run continues with the message, waiting if the user is asked again, or cancelled.
	State journal.RunStatus
	// Text is the text for the user if the run does not continue.
	Text string
	// Waiting has the waiting steps if the user is asked again.
	Waiting []journal.WaitingFor
	// After is the last event of the run before it continues.
	After int64
	// IsLate is set if the run had continued since the user was asked, for example with another message: this one was
	// not read.
	IsLate bool
}

// NotWaitingError is the error of a message to a run that waits for nothing. [Service.Reply] makes it; it is only data.
type NotWaitingError struct{ State journal.RunStatus }

// Error returns the state of the run.
func (e *NotWaitingError) Error() string { return e.Text().En }

// Text is Error in the built-in languages.
func (e *NotWaitingError) Text() wording.Text {
	return wording.Say("the run does not wait: it is %s", wording.Of(string(e.State)))
}

// Reply answers a run that waits, or that failed while it read such a message, with a message of the user, for
// every interface through which people write: a word of [Parts] CancelWords cancels the run; a value for the
// requested place is used; the model reads another message when the run continues; a message that cannot be read
// repeats the question. For example, "7" answers a question for a number directly, "next Friday" may need the
// model. The error is a [*NotWaitingError] if the run continued or ended meanwhile.
func (s *Service) Reply(ctx context.Context, p Principal, runs Runner, r ReplyRequest) (*Reply, error) {
	details, _, err := s.ShowRun(ctx, p, r.Run)
	if err != nil {
		return nil, err
	}
	if !details.State.TakesAnswers() {
		return nil, &NotWaitingError{details.State.State}
	}
	w := details.askedStep(r.Step)
	if w == nil {
		return nil, calls.Errorf(calls.Invalid, "the run %s waits for nothing that can be asked for here", r.Run)
	}
	if s.IsCancel(*w, r.Text) {
		if details.State.State == journal.RunWaiting {
			err = runs.Cancel(ctx, p, r.Run)
		}
		return &Reply{State: journal.RunCancelled, Text: s.wordingOf(details).Cancelled()}, err
	}
	answer := scheduler.Answer{Step: w.Step, Pointer: r.Pointer, Message: r.Text, Seen: cmp.Or(r.Seen, details.State.LastSeq)}
	err = runs.Resume(ctx, p, r.Run, ResumeWith{Answers: []scheduler.Answer{answer}, Wait: r.Wait})
	if err == nil {
		return &Reply{State: journal.RunRunning, After: details.State.LastSeq}, nil
	}
	if calls.KindOf(err) != calls.Invalid {
		return nil, err
	}
	return s.askAgain(ctx, p, runs, r)
}

// askAgain returns the question of a run that has not taken a message. One that waits for the same as before has not found
// it in the message.
func (s *Service) askAgain(ctx context.Context, p Principal, runs Runner, r ReplyRequest) (*Reply, error) {
	details, _, err := s.ShowRun(ctx, p, r.Run)
	if err != nil {
		return nil, err
	}
	w := details.askedStep(r.Step)
	if !details.State.TakesAnswers() || w == nil {
		return nil, &NotWaitingError{details.State.State}
	}
	w.Unread = r.Seen == 0 || r.Seen == details.State.LastSeq
	if w.Unread {
		w.Said, w.Misfit = r.Text, value.Value{}
		w.Misses += runs.CountMissed(r.Run+"/"+w.Step, details.State.LastSeq)
	}
	return &Reply{State: journal.RunWaiting, Text: s.QuestionOf(details, *w), Waiting: details.State.Waiting, IsLate: !w.Unread}, nil
}

// askedStep returns the step of a name that waits, or the first one; nil if none waits, or none that can be asked
// for.
func (r *RunDetails) askedStep(step string) *journal.WaitingFor {
	i := slices.IndexFunc(r.State.Waiting, func(w journal.WaitingFor) bool { return step == "" || w.Step == step })
	if i < 0 || len(r.State.Waiting[i].Pointers()) == 0 {
		return nil
	}
	return &r.State.Waiting[i]
}

// IsCancel reports whether a message of the user cancels the run that waits: it is one of the words for that, and
// not one of the choices offered to the user.
func (s *Service) IsCancel(w journal.WaitingFor, text string) bool {
	return s.isCancel(w.AskedPlace(), text)
}

func (s *Service) isCancel(place journal.AskedPlace, text string) bool {
	_, isChoice := schema.FindChoice(schema.Choices(place.Schema), strings.Trim(strings.TrimSpace(text), ".!。！"))
	return !isChoice && s.IsCancelWord(text)
}

// IsCancelWord reports whether a message is one of the words that cancel a run.
func (s *Service) IsCancelWord(text string) bool {
	text = strings.Trim(strings.TrimSpace(text), ".!。！")
	return slices.ContainsFunc(s.parts.CancelWords, func(word string) bool { return strings.EqualFold(word, text) })
}

// QuestionOf returns the question to a person for the first value that a step of a run waits for.
func (s *Service) QuestionOf(details *RunDetails, w journal.WaitingFor) string {
	words, place := s.wordingOf(details), w.AskedPlace()
	return s.addWaysOut(words, aboutItem(words, w, askFor(words, w, place)), w, place)
}

// addWaysOut returns a question with the ways out behind it, if so many messages in a row have missed it. An input of the flow, which no
// step waits for, is never read behind its name.
func (s *Service) addWaysOut(words ask.Wording, question string, w journal.WaitingFor, place journal.AskedPlace) string {
	if w.Misses < missesToHelp {
		return question
	}
	isNamed := w.Step != "" && place.IsFreeText()
	return strings.TrimSpace(question + " " + words.WaysOut(fieldOf(place), isNamed, s.cancelWord(question)))
}

// missesToHelp is the number of messages in a row without an answer after which a question names the ways out.
const missesToHelp = 2

// cancelWord returns the first word that cancels a run in the script of a text; without one, the first word.
func (s *Service) cancelWord(text string) string {
	isHan := func(text string) bool {
		return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	for _, word := range s.parts.CancelWords {
		if isHan(word) == isHan(text) {
			return word
		}
	}
	if len(s.parts.CancelWords) > 0 {
		return s.parts.CancelWords[0]
	}
	return ""
}

// askFor returns the question for a place that a step waits for. After a message with a value that does not fit it
// says why.
func askFor(words ask.Wording, w journal.WaitingFor, place journal.AskedPlace) string {
	if w.Unread || !w.Misfit.IsNull() {
		return words.QuestionAfter(fieldOf(place), w.Said, w.Misfit)
	}
	return words.Question(fieldOf(place), false)
}

// aboutItem returns a text with the item that it is about, if the step is for one of several.
func aboutItem(words ask.Wording, w journal.WaitingFor, text string) string {
	if w.Item.Number == 0 {
		return text
	}
	return words.ForItem(w.Item.Name, w.Item.Number, w.Item.Count, text)
}

// FormOf returns the text of a form for all that a step of a run waits for, and the labels of its fields. The text has the reason of
// each refused field, and the questions, a line for each field.
func (s *Service) FormOf(details *RunDetails, w journal.WaitingFor, fields []journal.FormField, refused []RefusedField) (text string, labels []string) {
	words := s.wordingOf(details)
	first := w.AskedPlace()
	var reasons, questions []string
	for _, one := range refused {
		if one.HoldsFor(w) {
			reasons = append(reasons, one.Text)
		}
	}
	for _, one := range fields {
		question := words.Question(fieldOf(one.AskedPlace), false)
		isLastRead := len(reasons) == 0 && one.Pointer == first.Pointer // with reasons, the message read last may be of another field
		if isLastRead {
			question = askFor(words, w, first)
		}
		questions, labels = append(questions, question), append(labels, words.Label(fieldOf(one.AskedPlace)))
	}
	lines := slices.Concat(reasons, []string{aboutItem(words, w, strings.Join(questions, "\n"))})
	return strings.Join(lines, "\n"), labels
}

// FormRequest has the values of a person in the fields of a form for a run that waits. Its caller makes it; it is only read.
type FormRequest struct {
	Run string
	// Fields have a value each, as typed or chosen; null for a field that was left alone.
	Fields []scheduler.Answer
	// Wait is how long the run may wait for a slot.
	Wait time.Duration
}

// FormReply is the outcome of the fields of a form. [Service.AnswerForm] returns it; it is only data.
type FormReply struct {
	// Reply has the state waiting if the run does not continue because no field fits.
	Reply
	// Refused are the fields that do not fit, and fields whose text is not a value until the run has read it, for
	// example "why?". The others are kept.
	Refused []RefusedField
}

// RefusedField is a field of a form that does not fit.
type RefusedField struct {
	Step, Pointer string
	// Text is the reason for the person, with the label of the field.
	Text string
	// isLeftToRun is set for a field whose text the run has to read.
	isLeftToRun bool
}

// HoldsFor reports whether the field is one of a step that waits and still has no value: words that the run has read may have been one.
func (r RefusedField) HoldsFor(w journal.WaitingFor) bool {
	isAsked := func(f journal.FormField) bool { return f.Pointer == r.Pointer }
	return r.Step == w.Step && (!r.isLeftToRun || slices.ContainsFunc(w.FormFields(), isAsked))
}

// AnswerForm answers a run that waits with the fields of a form: each text is read like a message of
// [Service.Reply], for its place. Fields that fit are kept even if others do not. The error is a
// [*NotWaitingError] if the run continued or ended meanwhile.
func (s *Service) AnswerForm(ctx context.Context, p Principal, runs Runner, r FormRequest) (*FormReply, error) {
	details, _, err := s.ShowRun(ctx, p, r.Run)
	if err != nil {
		return nil, err
	}
	if details.State.State != journal.RunWaiting {
		return nil, &NotWaitingError{details.State.State}
	}
	form := &filledForm{details: details, words: s.wordingOf(details)}
	for _, one := range r.Fields {
		w := details.askedStep(one.Step)
		if w == nil {
			continue
		}
		one.Step = w.Step
		if text, isText := one.Value.Str(); isText && s.isCancel(w.Place(one.Pointer), text) {
			reply := &FormReply{Reply: Reply{State: journal.RunCancelled, Text: form.words.Cancelled()}}
			return reply, runs.Cancel(ctx, p, r.Run)
		}
		form.read(*w, one)
	}
	session, _, err := s.ReopenSession(ctx, p, ResumeRequest{Run: r.Run})
	if err != nil {
		return nil, err
	}
	taken, refused, err := session.RecordFields(ctx, form.answers)
	if calls.KindOf(err) == calls.Canceled {
		err = &NotWaitingError{session.State.State}
	}
	if err != nil {
		return nil, err
	}
	reply := &FormReply{Reply: Reply{State: journal.RunWaiting, After: details.State.LastSeq}, Refused: form.refused}
	for _, one := range refused {
		reply.Refused = append(reply.Refused, form.refuse(*details.askedStep(one.Step), one))
	}
	for _, one := range form.leftToRun(taken) {
		field := form.refuse(*details.askedStep(one.Step), one)
		field.isLeftToRun = true
		reply.Refused = append(reply.Refused, field)
	}
	placeOf := func(one RefusedField) int {
		return slices.IndexFunc(r.Fields, func(f scheduler.Answer) bool { return f.Step == one.Step && f.Pointer == one.Pointer })
	}
	slices.SortStableFunc(reply.Refused, func(a, b RefusedField) int { return cmp.Compare(placeOf(a), placeOf(b)) })
	if len(taken) == 0 {
		return reply, nil
	}
	reply.State = journal.RunRunning
	// The answers are given once more, because the journal does not keep answers with a secret.
	return reply, runs.Resume(ctx, p, r.Run, ResumeWith{Answers: taken, Wait: r.Wait})
}

// filledForm is a form as [Service.AnswerForm] reads it.
type filledForm struct {
	details *RunDetails
	words   ask.Wording
	answers []scheduler.Answer
	refused []RefusedField
}

// read reads a field, which has a value: texts in full as the run continues, other values at once.
func (f *filledForm) read(w journal.WaitingFor, field scheduler.Answer) {
	text, isText := field.Value.Str()
	if isText || field.Value.IsNull() {
		typed := scheduler.Answer{Step: field.Step, Pointer: field.Pointer, Message: text, InField: true}
		answer, err := scheduler.ReadField(typed, w.Place(field.Pointer).Schema, !w.Needs(field.Pointer))
		switch {
		case err == nil:
			f.answers = append(f.answers, answer)
		case calls.KindOf(err) == calls.Invalid:
			f.refused = append(f.refused, f.refuse(w, typed))
		}
		return
	}
	if scheduler.CheckAnswers([]scheduler.Answer{field}, f.details.State.Waiting) == nil {
		f.answers = append(f.answers, field)
		return
	}
	typed := scheduler.Answer{Step: field.Step, Pointer: field.Pointer, Message: textOfField(field.Value)}
	if read, err := scheduler.ReadAnswer(typed, f.details.State.Waiting); err == nil { // 7 for one of "7" and "8"
		f.answers = append(f.answers, read)
		return
	}
	f.refused = append(f.refused, f.refuse(w, field))
}

// leftToRun returns the fields whose text the run has to read, because it was not accepted as a value.
func (f *filledForm) leftToRun(taken []scheduler.Answer) (words []scheduler.Answer) {
	for _, one := range f.answers {
		isTaken := slices.ContainsFunc(taken, func(t scheduler.Answer) bool {
			return t.Message == "" && t.Step == one.Step && t.Pointer == one.Pointer
		})
		if one.Message != "" && !isTaken {
			words = append(words, one)
		}
	}
	return words
}

// textOfField returns a value as people write it: items between commas.
func textOfField(v value.Value) string {
	var items []string
	for _, item := range v.List() {
		items = append(items, item.PlainText())
	}
	if items != nil {
		return strings.Join(items, ",")
	}
	return v.PlainText()
}

// refuse returns a field that does not fit.
func (f *filledForm) refuse(w journal.WaitingFor, field scheduler.Answer) RefusedField {
	v := field.Value
	if v.IsNull() {
		v = value.OfString(field.Message)
	}
	return RefusedField{Step: w.Step, Pointer: field.Pointer, Text: f.words.UnfitField(fieldOf(w.Place(field.Pointer)), v)}
}

// UnfitAnswers returns why values for a run do not fit, a line for each, for the person who gave them; "" if all
// do.
func (s *Service) UnfitAnswers(details *RunDetails, answers []scheduler.Answer) string {
	form := &filledForm{details: details, words: s.wordingOf(details)}
	var lines []string
	for _, a := range answers {
		w := details.askedStep(a.Step)
		if w != nil && !w.Place(a.Pointer).Schema.IsNull() && scheduler.CheckAnswers([]scheduler.Answer{a}, details.State.Waiting) != nil {
			lines = append(lines, form.refuse(*w, a).Text)
		}
	}
	return strings.Join(lines, "\n")
}

// CancelledText returns the text for a person whose run was cancelled.
func (s *Service) CancelledText(details *RunDetails) string { return s.wordingOf(details).Cancelled() }

// FailedText returns the words for a person whose run has failed with an error of a kind, in a language; "" is the
// settings' language. run is "" for none.
func (s *Service) FailedText(language string, kind calls.Kind, run string) string {
	return s.wordingIn(language).Failed(kind, run)
}

// UnansweredText returns the words in place of an answer that a model did not write, in a language; "" is the
// settings' language.
func (s *Service) UnansweredText(language string) string { return s.wordingIn(language).Unanswered() }

// FailureOf returns the error of a run in the form for its user: its kind, and a text.
func (s *Service) FailureOf(details *RunDetails) journal.ErrorInfo {
	if details.State.Error == nil {
		return journal.ErrorInfo{}
	}
	kind := details.State.Error.Kind
	return journal.ErrorInfo{Kind: kind, Message: s.wordingOf(details).Failed(kind, details.Info.ID)}
}

// ReadableOutputs returns the outputs of a run in the form for its user. A flow that names no outputs has the
// outputs of all steps: for a failed step after which the flow continued, only the kind of its error and the text
// for users are left.
func (s *Service) ReadableOutputs(f *flow.Flow, run string, outputs value.Value) value.Value {
	if f == nil || f.Outputs != nil || outputs.Kind() != value.Object {
		return outputs
	}
	readable := outputs.Map().Clone()
	for id, output := range outputs.Map().All() {
		readable.Set(id, s.withReadableError(f.Language, run, output))
	}
	return value.OfMap(readable)
}

// withReadableError returns the output of a step, or of each of its items.
func (s *Service) withReadableError(language, run string, output value.Value) value.Value {
	if output.Kind() == value.List {
		items := slices.Clone(output.List())
		for i, item := range items {
			items[i] = s.withReadableError(language, run, item)
		}
		return value.OfList(items...)
	}
	kind, failed := output.At("/error/kind")
	if !failed || output.Map().Len() != 1 {
		return output
	}
	told := s.FailedText(language, calls.Kind(kind.PlainText()), run)
	return value.OfMap(value.Pairs("error", value.OfMap(value.Pairs("kind", kind, "message", told))))
}

// UnfitText returns why an answer does not fit its place, in the language of the run; "" if the step does not wait.
func (s *Service) UnfitText(details *RunDetails, a scheduler.Answer) string {
	w := details.askedStep(a.Step)
	if w == nil {
		return ""
	}
	return s.wordingOf(details).Unfit(fieldOf(w.Place(a.Pointer)), a.Value)
}

// questionText is the Question of executors.
func (s *Service) questionText(language string, place journal.AskedPlace) string {
	return s.wordingIn(language).Question(fieldOf(place), false)
}

func fieldOf(place journal.AskedPlace) ask.Field {
	field := ask.Field{Name: place.Name(), Schema: place.Schema}
	for _, one := range place.Either {
		field.Either = append(field.Either, fieldOf(one))
	}
	return field
}

// wordingOf returns the words for a run: in the language of its flow, else that in which it began.
func (s *Service) wordingOf(details *RunDetails) ask.Wording {
	language := details.options.Language
	if details.Flow != nil {
		language = cmp.Or(details.Flow.Language, language)
	}
	return s.wordingIn(language)
}

// wordingIn returns the words of a language; "" is the settings' language.
func (s *Service) wordingIn(language string) ask.Wording {
	var files fs.FS
	if s.parts.Languages != nil {
		known := s.parts.Languages()
		files, language = known.Files, cmp.Or(language, known.Default)
	}
	return ask.Wording{Languages: files, Language: language}
}

// Words ask a person on a terminal, in one language. [Session.Words] and [Service.Words] make them; they are only data.
type Words struct {
	words   ask.Wording
	service *Service
}

// Words returns the words of a language; "" is the settings' language.
func (s *Service) Words(language string) Words { return Words{s.wordingIn(language), s} }

// Words returns the words in the language of the run's flow.
func (s *Session) Words() Words {
	return s.service.Words(cmp.Or(s.Flow.Language, s.executor.Language))
}

// Question returns the question for a place that a step waits for.
func (w Words) Question(of journal.WaitingFor, pointer string) string {
	if pointer != of.AskedPlace().Pointer {
		of.Unread, of.Misfit, of.Misses = false, value.Value{}, 0
	}
	place := of.Place(pointer)
	return w.service.addWaysOut(w.words, aboutItem(w.words, of, askFor(w.words, of, place)), of, place)
}

// QuestionAfter returns the question for a place after a line that does not answer it, the last of so many in a row.
func (w Words) QuestionAfter(of journal.WaitingFor, pointer, line string, misses int) string {
	if pointer != of.AskedPlace().Pointer {
		of.Misses = 0
	}
	of.Misses += misses
	place := of.Place(pointer)
	question := w.words.QuestionAfter(fieldOf(place), line, value.Value{})
	return w.service.addWaysOut(w.words, aboutItem(w.words, of, question), of, place)
}

// Label returns the label of a place.
func (w Words) Label(of journal.WaitingFor, pointer string) string {
	return w.words.Label(fieldOf(of.Place(pointer)))
}

// IsCancel reports whether an answer cancels the run.
func (w Words) IsCancel(of journal.WaitingFor, pointer, text string) bool {
	return w.service.isCancel(of.Place(pointer), text)
}

// Cancelled returns the text for a person who has cancelled the run.
func (w Words) Cancelled() string { return w.words.Cancelled() }

// Cancel cancels the run of the session, which waits.
func (s *Session) Cancel(ctx context.Context) error {
	if s.executor.Journal == nil {
		return nil
	}
	return s.executor.Journal.Cancel(ctx, s.ID)
}
