package replay

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Run is a run of a flow that is recorded or played. [Cassette.Play] and [Cassette.Record] make it; its life is:
//
//  1. [Run.Start] returns how it is to begin.
//  2. [Run.Begin] is called when it begins, and each time it is resumed.
//  3. [Run.Provider] and [Run.Exchange] play or record its requests, from any goroutine.
//  4. [Run.End] is called when it has ended or waits; a recording is written then at the latest.
type Run struct {
	cassette    *Cassette
	wanted      Header
	isRecording bool
	isStrict    bool

	// The following fields are guarded by the lock of the cassette.

	header   Header
	recorded *recordedRun // nil for a run that was not recorded
	problem  error        // why nothing can be recorded; nil: it can
	former   []*recording // answers of models that need not be asked for again
	places   places
	given    []Place
	asked    map[slotOfRun]int
	played   map[*recording]bool
}

// slotOfRun counts equal requests of a step in one part of a run.
type slotOfRun struct {
	kind, key, step string
	part            int
}

// SetPlaces sets the texts that differ from machine to machine. It is called before anything is asked.
func (r *Run) SetPlaces(all []Place) {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	r.given = all
	r.places = newPlaces(all)
}

// Start returns the id, the time and the seed of the run as it is recorded; zero values are not known. part is how often it
// was resumed.
func (r *Run) Start(part int) (id string, now time.Time, seed uint64) {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	h := &r.header
	now = h.Now
	if part > 0 && len(h.Resumed) > 0 {
		now = h.Resumed[min(part, len(h.Resumed))-1]
	}
	return h.Run, now, h.Seed
}

// Settings returns the language and the time zone that the machine which recorded the run gave to flows that name none; "" and nil are
// not known, or none.
func (r *Run) Settings() (language string, zone *time.Location) {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	return r.header.Language, findZone(r.header.Zone)
}

// findZone returns a time zone by its name or its offset, for example -05:00; nil for one that this machine does not know.
func findZone(name string) *time.Location {
	if at, err := time.Parse("-07:00", name); err == nil {
		_, offset := at.Zone()
		return time.FixedZone("UTC"+name, offset)
	}
	zone, err := time.LoadLocation(name)
	if name == "" || err != nil {
		return nil
	}
	return zone
}

// UserZone returns the time zone that the settings had for a user when the run was recorded; nil is none.
func (r *Run) UserZone(user string) *time.Location {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	return findZone(r.header.UserZones[user])
}

// NoteUserZone records the time zone of a user.
func (r *Run) NoteUserZone(user, zone string) {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	if r.recorded.UserZones == nil {
		r.recorded.UserZones = map[string]string{}
	}
	r.recorded.UserZones[user] = zone
}

// ModelsOf returns the names of the providers and models that answered the recorded run for these names of the flow, in the order in
// which they were asked; for names that it does not have, the providers have these names.
func (r *Run) ModelsOf(names []string) ModelNames {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	if known, ok := r.header.Names[namesKey(names)]; ok {
		return known
	}
	list := make(ModelNames, max(len(names), 1))
	for i, name := range names {
		list[i].Provider = name
	}
	return list
}

// NoteModels records the models that answer for these names of the flow.
func (r *Run) NoteModels(names []string, list ModelNames) {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	if r.recorded.Names == nil {
		r.recorded.Names = map[string]ModelNames{}
	}
	r.recorded.Names[namesKey(names)] = list
}

// namesKey returns names as headers have them.
func namesKey(names []string) string { return strings.Join(names, llm.NameSeparator) }

// The kinds of changes of the memory, which is the user's own, and of looks into it.
const (
	kindMemory = "memory"
	kindRecall = "recall"
)

// IsKnown reports whether it is known how the run begins: it is recorded now, or was.
func (r *Run) IsKnown() bool { return r.isRecording || r.recorded != nil }

// IsPlayed reports whether the run asks nothing outside.
func (r *Run) IsPlayed() bool { return !r.isRecording }

// RunPlace is the name that recordings have instead of the id of the run.
const RunPlace = "[scheduler:run]"

// Begin sets the id of the run, and the time at which it begins, or is resumed for the part-th time.
func (r *Run) Begin(id string, part int, now time.Time) {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	r.places = newPlaces(append(slices.Clone(r.given), Place{id, RunPlace}))
	if !r.isRecording {
		return
	}
	r.recorded.Run, r.recorded.IsEnded = id, false
	if part > 0 {
		for len(r.recorded.Resumed) < part {
			r.recorded.Resumed = append(r.recorded.Resumed, now)
		}
		r.recorded.Resumed[part-1] = now
	}
	r.header = r.recorded.Header
}

// End writes recordings that are not written yet. isWhole is false for a run that has not finished: it does not
// replace an earlier one. The error of a played run that has finished lists recordings that were not asked for: it
// went another way.
func (r *Run) End(isWhole bool) error {
	c := r.cassette
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !r.isRecording && isWhole:
		return r.leftoverLocked()
	case !r.isRecording:
		return nil
	case isWhole:
		return c.endLocked(r.recorded)
	case c.isStale:
		return c.saveLocked()
	}
	return nil
}

// leftoverLocked returns the error of recordings that were not asked for. A run that was resumed is played in
// several processes, each of which asks for its part.
func (r *Run) leftoverLocked() error {
	if !r.isStrict || r.recorded == nil || !r.header.IsEnded || len(r.header.Resumed) > 0 {
		return nil
	}
	all := pointersTo(r.recorded.recordings)
	left := slices.DeleteFunc(slices.Clone(all), func(one *recording) bool {
		return r.played[one] || one.kind == kindRecall // a function of a plugin may have looked, which is not asked now
	})
	if len(left) == 0 {
		return nil
	}
	run := 1 + slices.Index(r.cassette.file.runs, r.recorded)
	first := numbered{left[0], run, 1 + slices.Index(all, left[0])}
	err := wording.Errorf("%d recorded answers were not asked for, the first is %s of the step %s", len(left), first.place(), left[0].step)
	if reason := r.reasonLocked(); reason.En != "" {
		return wording.Errorf("%w; %s", err, reason)
	}
	return err
}

// Exchange plays the answer to an equal request of the same step, or asks and records the answer. kind names the
// receiver, such as http; name is the server's tool, or the call. The error of ask is passed on, and nothing is
// recorded: only an answer that reports an error is recorded.
func (r *Run) Exchange(ctx context.Context, kind, name string, request value.Value, ask func(context.Context) (value.Value, error)) (value.Value, error) {
	one := r.describe(ctx, kind, name, request)
	if !r.isRecording {
		if !r.isStrict && kind == kindMemory {
			return ask(ctx)
		}
		found := r.next(one)
		switch {
		case found != nil:
			return r.show(ctx, found.answer), nil
		case r.isStrict:
			return value.Value{}, r.missError(one)
		}
		return ask(ctx)
	}
	answer, err := ask(ctx)
	if err != nil {
		return answer, err
	}
	one.answer = r.hideAnswer(answer)
	if err := r.keep(one); err != nil {
		return value.Value{}, wording.Errorf("recording the answer: %w", err)
	}
	return answer, nil
}

// Lookup returns the recorded answer to a request; ok is false if there is none. Nothing is asked.
func (r *Run) Lookup(ctx context.Context, kind, name string, request value.Value) (answer value.Value, ok bool) {
	found := r.next(r.describe(ctx, kind, name, request))
	if found == nil {
		return value.Value{}, false
	}
	return r.show(ctx, found.answer), true
}

// describe returns the recording of a request, without its answer.
func (r *Run) describe(ctx context.Context, kind, name string, request value.Value) *recording {
	return describeExchange(ctx, kind, name, request, r.cassette.options.Hidden, r.currentPlaces())
}

// describeExchange returns the recording of a request to others than models, without its answer, secrets and places.
func describeExchange(ctx context.Context, kind, name string, request value.Value, known *secret.Set, shown places) *recording {
	hide := func(v value.Value) value.Value {
		masked := newSecrets(nil).with(known).maskValue(v.MaskedDeep(mask))
		return shown.hide(known.MaskValue(masked)) // keys and numbers too
	}
	asker := llm.AskerOf(ctx)
	shownName, _ := hide(value.OfString(name)).Str() // it has a path
	one := &recording{kind: kind, name: shownName, step: asker.Step, part: asker.Part, take: 1}
	one.request = boundTexts(hide(request))
	one.key = keyOf(one.request)
	return one
}

// hideAnswer returns an answer without places, and with marks in place of secrets.
func (r *Run) hideAnswer(v value.Value) value.Value {
	return r.currentPlaces().hide(r.hider(nil).hideValue(v))
}

// hider returns a hider that knows all secrets, and more.
func (r *Run) hider(more secrets) *hider {
	return newHider(more.with(r.cassette.options.Hidden), r.cassette.options.Secrets)
}

// show returns a recorded value with the places and the secrets of this run.
func (r *Run) show(ctx context.Context, v value.Value) value.Value {
	return r.currentPlaces().show(r.shower(ctx).showValue(v))
}

// showText is show for a text.
func (r *Run) showText(ctx context.Context, text string) string {
	return r.currentPlaces().showText(r.shower(ctx).showText(text))
}

func (r *Run) shower(ctx context.Context) *shower {
	return newShower(ctx, r.cassette.options.Secrets, r.isStrict || r.isRecording)
}

// Secret returns the secret that the flow of a played run sees by a name: this machine's if it is as long as it
// was when the run was recorded, else a stand-in. given is this machine's; "" if it has none. A run that may ask
// outside has the given one.
func (r *Run) Secret(name, given string) string {
	r.cassette.mu.Lock()
	s, isKnown := r.header.Secrets[name]
	r.cassette.mu.Unlock()
	switch {
	case given != "" && (!isKnown || !r.isStrict || shapeOf(given) == s):
		return given
	case isKnown:
		return s.standIn(name)
	}
	return shapeOfUnknown.standIn(name)
}

// shapeOfUnknown is the shape of the stand-in for a secret that recordings do not describe.
const shapeOfUnknown shape = "24"

// NoteSecret records that the flow sees a secret.
func (r *Run) NoteSecret(name, text string) {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	if r.recorded.Secrets == nil {
		r.recorded.Secrets = map[string]shape{}
	}
	r.recorded.Secrets[name] = shapeOf(text)
}

func (r *Run) currentPlaces() places {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	return r.places
}

// keep adds a recording to the run.
func (r *Run) keep(one *recording) error {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	if r.problem != nil {
		return r.problem
	}
	return r.cassette.addLocked(r.recorded, one)
}

// next returns the recording to play for a request, or nil.
func (r *Run) next(asked *recording) *recording {
	c := r.cassette
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.recorded != nil {
		if found := r.pickLocked(asked, pointersTo(r.recorded.recordings)); found != nil {
			return found
		}
	}
	others := pointersTo(c.file.recordings)
	if asked.kind == KindModel { // the same prompt has the same answer; a server's answer depends on the run
		for _, run := range c.file.runs {
			if run != r.recorded {
				others = append(others, pointersTo(run.recordings)...)
			}
		}
	}
	return r.pickLocked(asked, others)
}

// pickLocked returns the recording that fits a request best: by the same step, of the same part of the run and the
// same provider if there is one. The n-th equal request gets the n-th such recording, and later ones the last.
func (r *Run) pickLocked(asked *recording, all []*recording) *recording {
	fitting, n := r.fittingLocked(asked, all)
	if len(fitting) == 0 {
		return nil
	}
	found := fitting[min(n, len(fitting)-1)]
	r.played[found] = true
	return found
}

// fittingLocked returns the recordings that fit a request best, and how many of them equal requests had before.
func (r *Run) fittingLocked(asked *recording, all []*recording) (fitting []*recording, n int) {
	fitting = slices.DeleteFunc(all, func(one *recording) bool { return one.kind != asked.kind || one.key != asked.key })
	for _, isBetter := range []func(*recording) bool{
		func(one *recording) bool { return one.step == asked.step },
		func(one *recording) bool { return one.part == asked.part },
		func(one *recording) bool { return one.name == asked.name },
	} {
		if slices.ContainsFunc(fitting, isBetter) {
			fitting = slices.DeleteFunc(fitting, func(one *recording) bool { return !isBetter(one) })
		}
	}
	if len(fitting) == 0 {
		return nil, 0
	}
	s := slotOfRun{kind: cmp.Or(asked.kind, KindModel), key: asked.key + " " + fitting[0].name, step: fitting[0].step, part: fitting[0].part}
	n = r.asked[s]
	r.asked[s]++
	return fitting, n
}

func pointersTo(recordings []recording) []*recording {
	all := make([]*recording, len(recordings))
	for i := range recordings {
		all[i] = &recordings[i]
	}
	return all
}
