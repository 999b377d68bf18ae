package replay

import (
	"context"
	"iter"
	"slices"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Provider returns a provider that plays the answers of the run, or asks inner and records them by the provider's name:
// answers that the cassette has of equal requests are not asked for again. inner is nil for a run that is played.
func (r *Run) Provider(name string, inner llm.Provider) llm.Provider {
	p := &provider{run: r, name: name, inner: inner}
	if holder, ok := inner.(llm.SecretHolder); ok {
		p.secrets = newSecrets(holder.Secrets())
	}
	return p
}

// provider plays and records the answers of one model server for a run. It is safe for concurrent use.
type provider struct {
	run     *Run
	name    string
	inner   llm.Provider
	secrets secrets
}

func (p *provider) newError(err error) *llm.Error { return &llm.Error{Provider: p.name, Err: err} }

// Chat plays the recording of the request, or records one.
func (p *provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, p.newError(err))
			return
		}
		hidden := p.secrets.with(p.run.cassette.options.Hidden)
		one, err := describeRequest(req, hidden, p.run.currentPlaces())
		if err != nil {
			yield(llm.Delta{}, p.newError(err))
			return
		}
		asker := llm.AskerOf(ctx)
		one.name, one.step, one.part = p.name, asker.Step, asker.Part
		if !p.run.isRecording {
			p.play(ctx, &one, yield)
			return
		}
		if hidden.occurIn(one.request) {
			yield(llm.Delta{}, p.newError(errSecret))
			return
		}
		if former := p.run.formerAnswer(&one); former != nil {
			one.deltas = former.deltas
			if err := p.run.keep(&one); err != nil {
				yield(llm.Delta{}, p.newError(wording.Errorf("recording the answer: %w", err)))
				return
			}
			p.send(ctx, &one, yield)
			return
		}
		p.record(ctx, req, one, yield)
	}
}

// play sends the recorded answer.
func (p *provider) play(ctx context.Context, one *recording, yield func(llm.Delta, error) bool) {
	found := p.run.next(one)
	if found == nil {
		miss := p.run.missError(one)
		yield(llm.Delta{}, &llm.Error{Provider: p.name, Hint: miss.hint, Unsent: true, Err: miss})
		return
	}
	p.send(ctx, found, yield)
}

// send sends the deltas of a recording, and its error.
func (p *provider) send(ctx context.Context, one *recording, yield func(llm.Delta, error) bool) {
	for _, d := range one.deltas {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, p.newError(err))
			return
		}
		d, err := mapDelta(d, func(v value.Value) value.Value { return p.run.show(ctx, v) })
		if !yield(d, err) || err != nil {
			return
		}
	}
	if one.failure != nil {
		name := one.name
		if name == "" {
			name = p.name
		}
		yield(llm.Delta{}, one.failure.mapTexts(func(text string) string { return p.run.showText(ctx, text) }).play(ctx, name))
	}
}

// record passes on the answer of the inner provider, and keeps it when it is whole, or ends with an error of the provider.
func (p *provider) record(ctx context.Context, req *llm.Request, one recording, yield func(llm.Delta, error) bool) {
	var failed error
	for d, err := range p.inner.Chat(ctx, req) {
		if err != nil {
			failed = err
			one.failure = newFailure(ctx, err)
			break
		}
		one.deltas = append(one.deltas, d)
		if !yield(d, nil) {
			return
		}
	}
	if failed == nil || one.failure != nil {
		if err := p.keep(&one); err != nil {
			failed = p.newError(wording.Errorf("recording the answer: %w", err))
		}
	}
	if failed != nil {
		yield(llm.Delta{}, failed)
	}
}

// keep adds a recording without hidden texts.
func (p *provider) keep(one *recording) error {
	hider := p.run.hider(p.secrets)
	masked, err := hider.hideDeltas(one.deltas)
	if err != nil {
		return err
	}
	one.deltas, err = p.run.currentPlaces().hideDeltas(masked)
	if err != nil {
		return err
	}
	if one.failure != nil {
		one.failure = one.failure.mapTexts(func(text string) string {
			return p.run.currentPlaces().hideText(hider.hideText(value.OfString(text)))
		})
	}
	return p.run.keep(one)
}

// formerAnswer returns the answer of an earlier recording to a request; nil: it must be asked for.
func (r *Run) formerAnswer(asked *recording) *recording {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	fitting, n := r.fittingLocked(asked, slices.Clone(r.former))
	if n >= len(fitting) {
		return nil
	}
	return fitting[n]
}

// mapDelta returns a piece of an answer with its texts changed.
func mapDelta(d llm.Delta, change func(value.Value) value.Value) (llm.Delta, error) {
	v, err := encodeDelta(d)
	if err != nil {
		return d, err
	}
	changed := change(v)
	if value.Equal(v, changed) {
		return d, nil
	}
	return decodeDelta(changed)
}

// hideDeltas returns an answer with the names of the places, in the same pieces: of a place that is spread over several, each has its
// part.
func (p places) hideDeltas(deltas []llm.Delta) ([]llm.Delta, error) {
	if len(p) == 0 {
		return deltas, nil
	}
	hidden, err := p.hideEach(deltas)
	if err != nil || !p.occurIn(joinDeltas(hidden)) {
		return hidden, err
	}
	texts, ends := map[string]string{}, map[string]int{} // by the names of visitTexts
	for i := range deltas {
		visitTexts(&deltas[i], func(name string, piece *string) { texts[name] += *piece })
	}
	for i := range hidden {
		pieces := map[string]string{}
		visitTexts(&deltas[i], func(name string, piece *string) {
			start := ends[name]
			ends[name] += len(*piece)
			pieces[name] = p.hidePiece(texts[name], start, ends[name])
		})
		hidden[i].ToolCalls = slices.Clone(hidden[i].ToolCalls)
		visitTexts(&hidden[i], func(name string, piece *string) { *piece = pieces[name] })
	}
	return hidden, nil
}

func (p places) hideEach(deltas []llm.Delta) ([]llm.Delta, error) {
	hidden := make([]llm.Delta, len(deltas))
	for i, d := range deltas {
		var err error
		hidden[i], err = mapDelta(d, p.hide)
		if err != nil {
			return nil, err
		}
	}
	return hidden, nil
}

// occurIn reports whether an answer has the text of a place.
func (p places) occurIn(d llm.Delta) bool {
	texts := []string{d.Text, d.Reasoning}
	for _, call := range d.ToolCalls {
		texts = append(texts, call.Arguments)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return p.hideText(text) != text })
}
