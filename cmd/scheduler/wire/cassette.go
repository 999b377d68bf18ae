package wire

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/service"
)

// CassetteSuffix ends the names of cassettes: flow.yaml has flow.cassette.yaml
// beside it.
const CassetteSuffix = ".cassette.yaml"

// cassettePath returns the path of the cassette of a flow.
func cassettePath(f *flow.Flow) string {
	return strings.TrimSuffix(f.File, filepath.Ext(f.File)) + CassetteSuffix
}

// openCassette opens a cassette; all runs of the process that use it share it. One that cannot be read is found before
// the run.
func (rt *Runtime) openCassette(path string, mustExist bool) (*replay.Cassette, error) {
	if _, err := os.Stat(path); mustExist && err != nil {
		return nil, calls.Errorf(calls.Invalid, "reading the cassette: %w", err).
			WithHint("run with --record and a provider (llm.providers in the settings) to record it")
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if c := rt.cassettes[path]; c != nil && c.IsCurrent() {
		return c, nil
	}
	c, err := replay.Open(replay.Options{
		Path: path, Hidden: rt.hidden, Secrets: rt.namedSecrets, LogDir: rt.settings.StateDir, Hint: "run with --record and a provider (llm.providers in the settings) to record it",
	})
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	rt.cassettes[path] = c
	return c, nil
}

// playRun returns the run of a cassette that a flow plays.
//
// With isStrict everything must be recorded. Without it (for example when somebody tries a flow without a
// provider) only models must be: the run saves to the user's own memory. Recalled memories are still played, so
// that the same run works a second time.
func (rt *Runtime) playRun(f *flow.Flow, o *service.ExecutorOptions, isStrict bool) (*replay.Run, error) {
	c, err := rt.openCassette(cassettePath(f), true)
	if err != nil {
		return nil, err
	}
	places := rt.placesOfMachine(o.Dir)
	run := c.Play(rt.headerOf(f, o, places), isStrict)
	run.SetPlaces(places)
	return run, nil
}

// checkPlayed refuses a run that was never recorded.
func checkPlayed(run *replay.Run) error {
	if err := run.CheckStart(); err != nil {
		return calls.Errorf(calls.Invalid, "%w", err).WithHint("give the inputs, the user and the conversation of a recorded run, or run with --record to record this one")
	}
	return nil
}

// notesOfPlayed warns of answers that differ from the recorded ones, because the cassette has no secrets.
func notesOfPlayed(f *flow.Flow, run *replay.Run) []service.Note {
	steps := run.StepsWithSecrets()
	if len(steps) == 0 {
		return nil
	}
	return []service.Note{{Level: service.LevelWarning, Text: wording.Say(
		"the answers to %s held a secret, and %s has [secret] in its place: a condition on it, or on the length of the answer, may go another way than in the recorded run",
		value.ListNames(steps), cassettePath(f))}}
}

// recordedRun returns the run that is recorded beside the flow of a case of a test, with these inputs; nil if there is none.
func (rt *Runtime) recordedRun(c *suite.Case, inputs value.Value) (*replay.Run, error) {
	_, err := os.Stat(cassettePath(c.Flow))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	run, err := rt.playRun(c.Flow, &service.ExecutorOptions{Run: &service.RunStart{Inputs: inputs, Conversation: c.Conversation, User: c.User}}, true)
	if err != nil || !run.IsKnown() {
		return nil, err
	}
	return run, nil
}

// recordRun returns the run of a cassette that a flow is recorded in.
func (rt *Runtime) recordRun(f *flow.Flow, o *service.ExecutorOptions) (*replay.Run, error) {
	c, err := rt.openCassette(cassettePath(f), false)
	if err != nil {
		return nil, err
	}
	places := rt.placesOfMachine(o.Dir)
	h := rt.headerOf(f, o, places)
	h.Now = standingTime(o.Now)
	h.Language = rt.settings.KnownLanguages().Default
	h.Zone = rt.nameZone(o.Now)
	if h.Seed == 0 {
		h.Seed = 1 + uint64(rand.Int64N(1<<53-1)) //nolint:gosec // it seeds what a flow draws
	}
	run := c.Record(h)
	run.SetPlaces(places)
	return run, nil
}

// standingTime returns the time of the clock of a run that is recorded: the present if none is given. It keeps an offset that the
// time was given with, for example by --now 2026-03-05T09:00:00+08:00; any other is in UTC, with the zone beside it ([Runtime.nameZone]).
func standingTime(given time.Time) time.Time {
	now := given
	if now.IsZero() {
		now = time.Now()
	}
	if now.Location().String() == "" {
		return now
	}
	return now.UTC()
}

// nameZone returns the time zone of a recorded run's clock unless the flow names one: the zone of the settings,
// else the offset of the machine, for example -05:00, as its zone has a name that other machines may not know. It
// is "" for a time in UTC.
func (rt *Runtime) nameZone(given time.Time) string {
	now := given
	if now.IsZero() {
		now = time.Now()
	}
	switch {
	case rt.zone != nil:
		return rt.zone.String()
	case now.Location() == time.UTC:
		return ""
	}
	return now.Format("-07:00")
}

// headerOf returns the header by which a cassette identifies a run.
func (rt *Runtime) headerOf(f *flow.Flow, o *service.ExecutorOptions, places []replay.Place) replay.Header {
	rt.hideProviderSecrets() // a user or an input may have the key of a provider that is not open yet
	sum := sha256.Sum256(f.Source)
	h := replay.Header{Flow: hex.EncodeToString(sum[:]), Program: rt.version}
	if o.Run != nil {
		inputs := o.Run.Inputs
		if inputs.IsNull() {
			inputs = value.OfMap(nil)
		}
		h.Run, h.User, h.Seed = o.Run.ID, rt.hidden.MaskText(o.Run.User), o.Run.Seed
		digest := func(v value.Value) string {
			return replay.DigestOf(replay.WithoutPlaces(rt.hidden.MaskValue(v), places))
		}
		if len(o.Run.Conversation.List()) > 0 {
			h.InputsAlone = digest(inputs)
			inputs = value.OfMap(value.Pairs("inputs", inputs, "conversation", o.Run.Conversation))
		}
		h.Inputs = digest(inputs)
	}
	return h
}

// placesOfMachine returns the folders that recordings name instead of having their paths.
func (rt *Runtime) placesOfMachine(dir string) []replay.Place {
	var places []replay.Place
	add := func(path, name string) {
		if full, err := filepath.Abs(path); path != "" && err == nil {
			places = append(places, replay.Place{Text: full, Name: name})
		}
	}
	add(cmp.Or(dir, rt.settings.Root, "."), "[scheduler:project]")
	if home, err := os.UserHomeDir(); err == nil && strings.Count(home, string(filepath.Separator)) > 1 { // /root names no user
		add(home, "[scheduler:home]")
	}
	return places
}

// applyRun lets an executor record or play a run.
func (rt *Runtime) applyRun(e *scheduler.StepExecutor, run *replay.Run, o *service.ExecutorOptions) {
	e.Tape = run
	if run.IsPlayed() {
		e.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() } // no server needs the pause
	}
	e.Secrets = rt.secretsOfRun(run)
	if !run.IsKnown() {
		return
	}
	start := &scheduler.RecordedStart{}
	start.ID, start.Now, start.Seed = run.Start(o.Run.Part)
	if o.Run.Part > 0 {
		_, start.StartedAt, _ = run.Start(0)
	}
	switch {
	case !o.Now.IsZero():
		start.Now = o.Now
	case o.Run.Part > 0 && !run.IsPlayed():
		start.Now = time.Now()
	}
	start.Now = standingTime(start.Now)
	start.Seed = cmp.Or(o.Run.Seed, start.Seed)
	rt.applySettings(e, start, run)
	if !run.IsPlayed() {
		start.ID = ""
	}
	e.Start = start
	e.Env.Clock = func() time.Time { return start.Now }
}

// applySettings gives a recorded run's clock the recorded zone, and a played one the language of the machine that
// recorded it, whatever this machine's are.
func (rt *Runtime) applySettings(e *scheduler.StepExecutor, start *scheduler.RecordedStart, run *replay.Run) {
	language, zone := run.Settings()
	e.Zone = zone
	if run.IsPlayed() {
		start.Language = language
		e.UserZone = run.UserZone
		return
	}
	e.UserZone = func(user string) *time.Location {
		zone := rt.settings.ZoneOf(user)
		if zone != nil {
			run.NoteUserZone(user, zone.String())
		}
		return zone
	}
}

// secretOfPlayed returns the value of a secret for a played run: for a secret that is not set on this machine,
// that its settings do not allow, or that has changed, a stand-in of the length that it had.
func (rt *Runtime) secretOfPlayed(run *replay.Run, name string) string {
	given, _ := rt.Secret(name)
	text := run.Secret(name, given)
	rt.hidden.Add(text)
	return text
}

// namedSecrets returns the secrets that the settings allow and that are set.
func (rt *Runtime) namedSecrets() []replay.Secret {
	var named []replay.Secret
	for _, name := range rt.settings.Secrets {
		if text := os.Getenv(name); text != "" {
			named = append(named, replay.Secret{Name: name, Text: text})
		}
	}
	return named
}

// secretsOfRun returns the function that looks secrets up for a run that is recorded or played.
func (rt *Runtime) secretsOfRun(run *replay.Run) func(name string) (string, bool) {
	if run.IsPlayed() {
		return func(name string) (string, bool) { return rt.secretOfPlayed(run, name), true }
	}
	return func(name string) (text string, ok bool) {
		text, ok = rt.Secret(name)
		if ok && text != "" {
			run.NoteSecret(name, text)
		}
		return text, ok
	}
}
