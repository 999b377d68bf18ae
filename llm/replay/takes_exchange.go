package replay

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Answers of others than models, such as servers and tools, are recorded once for all repeats: a repeat that asks the same several
// times gets them in their order.

// Begin sets the id of the run that the player plays for.
func (p *Player) Begin(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places = newPlaces(append(slices.Clone(p.takes.config.Places), Place{id, RunPlace}))
}

// Exchange plays the answer to a request to others than models: kind and name identify the receiver. One that is
// not recorded is asked for, and recorded in mode [Auto]; the error of ask is passed on, and nothing is recorded
// of it.
func (p *Player) Exchange(ctx context.Context, kind, name string, request value.Value, ask func(context.Context) (value.Value, error)) (value.Value, error) {
	one := p.describe(ctx, kind, name, request)
	found, done, err := p.takes.claim(ctx, p.nextExchange(one))
	switch {
	case err != nil:
		return value.Value{}, err
	case found != nil:
		show := newShower(ctx, p.takes.config.Secrets, p.takes.config.Mode == Replay)
		return p.currentPlaces().show(show.showValue(found.answer)), nil
	case done == nil:
		return ask(ctx)
	}
	defer done()
	answer, err := ask(ctx)
	if err != nil {
		return answer, err
	}
	hider := newHider(secrets{p.takes.config.Hidden}, p.takes.config.Secrets)
	one.answer = p.currentPlaces().hide(hider.hideValue(answer))
	one.step = "" // the steps of all cases share it
	if err := p.takes.keep(&take{recording: *one, order: p.order}); err != nil {
		return value.Value{}, wording.Errorf("recording the answer: %w", err)
	}
	return answer, nil
}

// describe returns the recording of a request, without its answer.
func (p *Player) describe(ctx context.Context, kind, name string, request value.Value) *recording {
	one := describeExchange(ctx, kind, name, request, p.takes.config.Hidden, p.currentPlaces())
	one.part = 0
	return one
}

func (p *Player) currentPlaces() places {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places
}

// nextExchange returns the slot of a request in this repeat.
func (p *Player) nextExchange(one *recording) slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := one.slotKey()
	n := p.asked[key]
	p.asked[key]++
	return slot{key, 1, n}
}

// MissOf returns the error of a request to others than models that is not recorded: it shows the nearest
// recording.
func (p *Player) MissOf(ctx context.Context, kind, name string, request value.Value) *Miss {
	c := &p.takes.config
	m := describeMiss(p.takes.all(), c.Path, c.ShownPath, p.describe(ctx, kind, name, request))
	m.hint = c.Hint
	return m
}

// IsEmpty reports whether nothing is recorded.
func (t *Takes) IsEmpty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.recordings) == 0
}

// StandIn returns the text that flows see as a secret which this machine does not have: as long as the secret was, if a recorded answer
// has it.
func (t *Takes) StandIn(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := shapeOfUnknown
	for _, one := range t.recordings {
		answer := value.NewMap(1)
		if err := one.encodeAnswer(answer); err != nil {
			continue
		}
		mapStrings(value.OfMap(answer), func(text string) string {
			for _, groups := range markPattern.FindAllStringSubmatch(text, -1) {
				if groups[1] == name {
					found = shape(groups[2])
				}
			}
			return text
		})
	}
	return found.standIn(name)
}
