package replay

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// TakesConfig is the cassette of a test file, and the way to use it.
type TakesConfig struct {
	// Name is the provider's name in messages.
	Name string
	// Path is the cassette's file. In mode [Replay] it may be missing: then every request is.
	Path string
	// ShownPath is the name of the file in messages; "" is Path.
	ShownPath string
	// Mode is [Replay], or [Auto] to record missing takes.
	Mode Mode
	// Open returns the provider to record, when it is first needed; nil in mode Replay.
	Open func() (llm.Provider, error)
	// Hidden are texts that must not get into the file, beside the secrets of the provider; nil for none.
	Hidden *secret.Set
	// Secrets are as in [Options], and Places the texts that differ from machine to machine.
	Secrets func() []Secret
	Places  []Place
	// Hint is how to record, for the message about a request that is not recorded.
	Hint string
}

// Takes are the recordings of a cassette for tests that repeat requests: each repeat has a [Player] of its own,
// which plays the take of its number and no other. If a repeat sends a request more than once, its take has an
// answer for each, in their order. [OpenTakes] makes it for the run of a test file; it is safe for concurrent use.
// No other program should record the cassette at the same time.
type Takes struct {
	config TakesConfig

	mu sync.Mutex

	// The following fields are guarded by mu.

	recordings []*take // in the order of the file
	byKey      map[string][]*take
	fresh      []*take
	asking     map[slot]chan struct{} // closed when the answer is there, or is not
	inner      llm.Provider
	secrets    secrets
	saved      time.Time
	isStale    bool // the file has recordings that were dropped
}

// take is a recording with data for tests.
type take struct {
	recording
	order, sequence int
	used            bool
}

// slotKey returns the key of the slots of its request. Requests to others than models have the receiver in their
// key, too.
func (r *recording) slotKey() string {
	if r.kind == KindModel {
		return r.key
	}
	return r.kind + " " + r.name + " " + r.key
}

// slot is the place of an answer: the n-th to a request in a repeat.
type slot struct {
	key     string
	take, n int
}

// OpenTakes reads a cassette.
func OpenTakes(config TakesConfig) (*Takes, error) {
	if config.Mode == "" {
		config.Mode = Replay
	}
	config.ShownPath = cmp.Or(config.ShownPath, config.Path)
	t := &Takes{config: config, byKey: map[string][]*take{}, asking: map[slot]chan struct{}{}}
	src, err := readFile(config.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, wording.Errorf("reading the cassette: %w", err)
	}
	c, err := parseCassette(src)
	if err != nil {
		return nil, wording.Errorf("%s:%w", config.ShownPath, err)
	}
	for _, run := range c.runs { // a copy of the cassette of a flow
		for _, r := range run.recordings {
			if r.kind == KindModel && r.failure == nil {
				t.addLocked(&take{recording: r})
			}
		}
	}
	for _, r := range c.recordings {
		t.addLocked(&take{recording: r})
	}
	return t, nil
}

func (t *Takes) addLocked(one *take) {
	t.recordings = append(t.recordings, one)
	t.byKey[one.slotKey()] = append(t.byKey[one.slotKey()], one)
}

// Play returns a player for repeat number, from 1. Its recordings are put into the file by order, so that the file
// does not depend on which test was the first to ask.
func (t *Takes) Play(number, order int) *Player {
	return &Player{takes: t, number: number, order: order, asked: map[string]int{}, isPriced: true, isTimed: true}
}

// Close writes the recordings. With prune, recordings that no player has asked for are dropped.
func (t *Takes) Close(prune bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(t.recordings), func(one *take) bool { return prune && !one.used })
	if len(t.fresh) == 0 && len(kept) == len(t.recordings) && !t.isStale {
		return nil
	}
	t.recordings = kept
	return t.saveLocked()
}

// saveEvery is how long recordings are kept in memory at most: answers are paid for.
const saveEvery = 2 * time.Second

// saveLocked writes the file: the recordings from before, then the new ones.
func (t *Takes) saveLocked() error {
	slices.SortStableFunc(t.fresh, func(a, b *take) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.take, b.take), cmp.Compare(a.sequence, b.sequence))
	})
	old := slices.DeleteFunc(slices.Clone(t.recordings), func(one *take) bool { return slices.Contains(t.fresh, one) })
	c := &cassette{}
	for _, one := range slices.Concat(old, t.fresh) {
		c.recordings = append(c.recordings, one.recording)
	}
	if err := c.write(t.config.Path); err != nil {
		return wording.Errorf("writing the cassette: %w", err)
	}
	t.saved, t.isStale = time.Now(), false
	return nil
}

// drop takes a recording out of the cassette, and reports whether it was there before this run.
func (t *Takes) drop(one *take) (wasRecorded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.recordings, one) {
		return false
	}
	wasRecorded = !slices.Contains(t.fresh, one)
	t.isStale = t.isStale || wasRecorded || !t.saved.IsZero()
	t.removeLocked(one)
	return wasRecorded
}

func (t *Takes) removeLocked(one *take) {
	isSame := func(other *take) bool { return other == one }
	t.recordings = slices.DeleteFunc(t.recordings, isSame)
	t.byKey[one.slotKey()] = slices.DeleteFunc(t.byKey[one.slotKey()], isSame)
	t.fresh = slices.DeleteFunc(t.fresh, isSame)
}

// findLocked returns the recording of a slot, or nil.
func (t *Takes) findLocked(s slot) *take {
	for _, one := range t.byKey[s.key] {
		if one.take != s.take {
			continue
		}
		if s.n == 0 {
			return one
		}
		s.n--
	}
	return nil
}

// claim returns the recording of a slot, or leave to record it: then the caller must call done. It waits while
// another player records it.
func (t *Takes) claim(ctx context.Context, s slot) (one *take, done func(), err error) {
	for {
		t.mu.Lock()
		one := t.findLocked(s)
		if one != nil && one.failure != nil && t.config.Mode == Auto && !slices.Contains(t.fresh, one) { // it may answer now
			t.removeLocked(one)
			one = nil
		}
		if one != nil {
			one.used = true
			t.mu.Unlock()
			return one, nil, nil
		}
		if t.config.Mode == Replay {
			t.mu.Unlock()
			return nil, nil, nil
		}
		busy := t.asking[s]
		if busy == nil {
			mine := make(chan struct{})
			t.asking[s] = mine
			t.mu.Unlock()
			return nil, func() { t.release(s, mine) }, nil
		}
		t.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (t *Takes) release(s slot, mine chan struct{}) {
	t.mu.Lock()
	delete(t.asking, s)
	t.mu.Unlock()
	close(mine)
}

// provider returns the provider to record, with its secrets known.
func (t *Takes) provider() (llm.Provider, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inner != nil {
		return t.inner, nil
	}
	inner, err := t.config.Open()
	if err != nil {
		return nil, err
	}
	if holder, ok := inner.(llm.SecretHolder); ok {
		t.secrets = newSecrets(holder.Secrets())
	}
	t.inner = inner
	return inner, nil
}

// hidden returns all that must not get into the file.
func (t *Takes) hidden() secrets {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.secrets.with(t.config.Hidden)
}

// keep adds a recording to the cassette.
func (t *Takes) keep(one *take) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.used, one.sequence = true, len(t.fresh)
	t.addLocked(one)
	t.fresh = append(t.fresh, one)
	if time.Since(t.saved) < saveEvery {
		return nil
	}
	return t.saveLocked()
}

// takesOf lists the takes that a request has, for messages.
func (t *Takes) takesOf(key string) (numbers []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.byKey[key] {
		if !slices.Contains(numbers, one.take) {
			numbers = append(numbers, one.take)
		}
	}
	return numbers
}

// all returns the recordings, to compare a request with.
func (t *Takes) all() []numbered {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]numbered, len(t.recordings))
	for i, one := range t.recordings {
		all[i] = numbered{&one.recording, 0, i + 1}
	}
	return all
}

// Player plays the takes of one repeat. [Takes.Play] makes it for each; it is safe for concurrent use.
type Player struct {
	// Wrap wraps the provider that the player records, for example to count its requests: recorded answers do not
	// pass it. It is set before the player is used; nil: the provider itself.
	Wrap func(llm.Provider) llm.Provider

	// Recorded is a run with answers that the takes lack, for example of the flow under test; nil: none. It is set
	// before the player is used.
	Recorded *Run

	takes         *Takes
	number, order int

	mu sync.Mutex

	// The following fields are guarded by mu.

	places   places
	asked    map[string]int // by key: how many times
	given    []*take        // played and recorded takes, in order
	missed   error
	ms       int64
	isTimed  bool
	isPriced bool
}

var _ llm.EmbeddingProvider = (*Player)(nil)

// Missed returns the error of the first request that was not recorded; nil: all were.
func (p *Player) Missed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.missed
}

// Checkpoint returns a function that drops the answers that the player gives from now on, if the caller could not
// use them. Then the cassette has no take of them, and the next request for one is recorded. again reports whether
// asking at once could help, because answers of an earlier run were dropped. In mode [Replay] nothing is dropped.
// Between both calls only one goroutine may ask the player.
func (p *Player) Checkpoint() (drop func() (again bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ms, isTimed, isPriced := len(p.given), p.ms, p.isTimed, p.isPriced
	return func() (again bool) {
		if p.takes.config.Mode == Replay {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, one := range p.given[n:] {
			again = p.takes.drop(one) || again
			p.asked[one.key]--
		}
		p.given, p.ms, p.isTimed, p.isPriced = p.given[:n], ms, isTimed, isPriced
		return again
	}
}

// RecordedMS returns how many milliseconds all answers took when they were recorded; known is false if a take has
// no time.
func (p *Player) RecordedMS() (ms int64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ms, p.isTimed
}

// IsPriced reports whether every take has its cost.
func (p *Player) IsPriced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isPriced
}

// Fallible returns the player for a provider behind which another one is asked if it fails: its failures are recorded too, so that the
// next one is asked in a replay. In mode [Auto] it is asked again.
func (p *Player) Fallible() llm.Provider { return falliblePlayer{p} }

type falliblePlayer struct{ *Player }

// Chat plays the take of the repeat, or records it.
func (p falliblePlayer) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return p.chat(ctx, req, true)
}

// Chat plays the take of the repeat, or records it.
func (p *Player) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return p.chat(ctx, req, false)
}

// chat plays the take of the repeat, or records it; an answer that fails only with keepsFailure.
func (p *Player) chat(ctx context.Context, req *llm.Request, keepsFailure bool) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		fail := func(err error) { yield(llm.Delta{}, p.newError(err)) }
		if err := ctx.Err(); err != nil {
			fail(err)
			return
		}
		inner, err := p.openInner()
		if err != nil {
			fail(err)
			return
		}
		hidden := p.takes.hidden()
		r, err := describeRequest(req, hidden, nil)
		if err != nil {
			fail(err)
			return
		}
		r.take = p.number
		one, done, err := p.takes.claim(ctx, p.nextSlot(r.key))
		if one == nil && err == nil {
			if played := p.findRecorded(ctx, req, hidden); played != nil {
				if done != nil {
					done()
				}
				p.playTake(ctx, played, yield)
				return
			}
		}
		switch {
		case err != nil:
			fail(err)
		case one != nil:
			p.playTake(ctx, one, yield)
		case done == nil:
			yield(llm.Delta{}, p.missError(r))
		default:
			defer done()
			if hidden.occurIn(r.request) {
				fail(errSecret)
				return
			}
			p.recordTake(ctx, inner, req, r, hidden, keepsFailure, yield)
		}
	}
}

// findRecorded returns the answer of the recorded run, which may be an error as in the run itself: the flow asks the next provider
// then. nil: it has none.
func (p *Player) findRecorded(ctx context.Context, req *llm.Request, hidden secrets) *take {
	if p.Recorded == nil {
		return nil
	}
	places := p.Recorded.currentPlaces()
	r, err := describeRequest(req, hidden, places)
	if err != nil {
		return nil
	}
	asker := llm.AskerOf(ctx)
	r.name, r.step, r.part = p.takes.config.Name, asker.Step, asker.Part
	found := p.Recorded.next(&r)
	if found == nil {
		return nil
	}
	if found.failure != nil && p.takes.config.Mode != Replay { // it may answer now
		return nil
	}
	played := &take{recording: *found}
	if found.failure != nil {
		played.failure = found.failure.mapTexts(func(text string) string { return p.Recorded.showText(ctx, text) })
	}
	played.deltas = nil
	for _, d := range found.deltas {
		shown, err := mapDelta(d, places.show) // playTake puts secrets in
		if err != nil {
			return nil
		}
		played.deltas = append(played.deltas, shown)
	}
	return played
}

// openInner returns the provider to record; nil in mode Replay.
func (p *Player) openInner() (llm.Provider, error) {
	if p.takes.config.Mode == Replay {
		return nil, nil
	}
	inner, err := p.takes.provider()
	if err != nil || p.Wrap == nil {
		return inner, err
	}
	return p.Wrap(inner), nil
}

// newError returns an error in the form that providers use; its kind stays.
func (p *Player) newError(err error) error {
	return &llm.Error{Provider: p.takes.config.Name, Err: err}
}

// nextSlot returns the slot of a request in this repeat.
func (p *Player) nextSlot(key string) slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.asked[key]
	p.asked[key]++
	return slot{key, p.number, n}
}

// playTake yields an answer, and the error that it ends with. One that failed cost nothing.
func (p *Player) playTake(ctx context.Context, one *take, yield func(llm.Delta, error) bool) {
	if one.failure == nil {
		p.count(one)
	}
	show := newShower(ctx, p.takes.config.Secrets, p.takes.config.Mode == Replay)
	for _, d := range one.deltas {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, p.newError(err))
			return
		}
		d, err := mapDelta(d, show.showValue)
		if !yield(d, err) || err != nil {
			return
		}
	}
	if one.failure != nil {
		yield(llm.Delta{}, one.failure.mapTexts(show.showText).play(ctx, p.takes.config.Name))
	}
}

// count adds up the recorded time and cost of an answer.
func (p *Player) count(one *take) {
	isPriced := slices.ContainsFunc(one.deltas, func(d llm.Delta) bool { return d.Usage != nil && d.Usage.Cost > 0 })
	p.mu.Lock()
	p.isPriced = p.isPriced && isPriced
	p.given = append(p.given, one)
	p.mu.Unlock()
	p.countTime(one)
}

// countTime counts how long an answer took.
func (p *Player) countTime(one *take) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isTimed = p.isTimed && one.ms != nil
	if one.ms != nil {
		p.ms += *one.ms
	}
}

// recordTake passes on the answer of the inner provider, and keeps it when it is whole; a failed answer is kept
// only with keepsFailure.
func (p *Player) recordTake(ctx context.Context, inner llm.Provider, req *llm.Request, r recording, hidden secrets, keepsFailure bool, yield func(llm.Delta, error) bool) {
	began := time.Now()
	for d, err := range inner.Chat(ctx, req) {
		if err != nil && keepsFailure {
			p.keepFailure(ctx, r, err, hidden)
		}
		if err == nil {
			r.deltas = append(r.deltas, d)
		}
		if !yield(d, err) || err != nil {
			return
		}
	}
	ms := time.Since(began).Milliseconds()
	r.ms = &ms
	masked, err := newHider(hidden, p.takes.config.Secrets).hideDeltas(r.deltas)
	if err == nil {
		r.deltas = masked
		one := &take{recording: r, order: p.order}
		p.count(one)
		err = p.takes.keep(one)
	}
	if err != nil {
		yield(llm.Delta{}, p.newError(wording.Errorf("recording the answer: %w", err)))
	}
}

// keepFailure records an answer that failed. If it cannot be written, the next record of the file reports that.
func (p *Player) keepFailure(ctx context.Context, r recording, failed error, hidden secrets) {
	r.failure = newFailure(ctx, failed)
	if r.failure == nil {
		return
	}
	hider := newHider(hidden, p.takes.config.Secrets)
	var err error
	r.deltas, err = hider.hideDeltas(r.deltas)
	if err != nil {
		return
	}
	r.failure = r.failure.mapTexts(func(text string) string { return hider.hideText(value.OfString(text)) })
	_ = p.takes.keep(&take{recording: r, order: p.order}) // Close writes it again
}

// missError returns the error of a request that is not recorded, and notes it.
func (p *Player) missError(r recording) error {
	c := &p.takes.config
	err := &llm.Error{Provider: c.Name, Hint: c.Hint, Unsent: true}
	if takes := p.takes.takesOf(r.key); len(takes) > 0 {
		err.Err = wording.Errorf("take %d of this request is not in %s, which has %d takes of it", p.number, c.ShownPath, len(takes))
	} else {
		err.Err = describeMiss(p.takes.all(), c.Path, c.ShownPath, &r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missed == nil {
		p.missed = err
	}
	return err
}
