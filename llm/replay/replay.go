// Package replay records the answers of a model in a cassette, a YAML file that
// people can read, review and keep beside a flow, and plays them back: flows run
// offline, for nothing, and always alike.
package replay

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Mode is what a provider does with a request.
type Mode string

// The modes.
const (
	// Replay plays what is recorded; a request that is not is an error.
	Replay Mode = "replay"
	// Record asks the inner provider, and records its answer. The first new
	// recording of a request replaces those of it that were there before.
	Record Mode = "record"
	// Auto plays what is recorded, and records what is not.
	Auto Mode = "auto"
)

// Config is the cassette to use and the way to use it.
type Config struct {
	// Name is the provider's name in messages.
	Name string
	// Path is the cassette's file. Modes that record create it.
	Path string
	// Mode is [Replay] where it is "".
	Mode Mode
	// Inner is the provider to record; nil in mode Replay.
	Inner llm.Provider
	// Secrets are texts that must not get into the file: they are masked.
	Secrets []string
	// Hidden are further ones, which come up while the runs go on; nil for none.
	Hidden *secret.Set
	// Hint is how to record, for the message about a request that is not recorded; ""
	// is a general one.
	Hint string
}

// Provider plays and records. [New] makes one for a run; it is safe for concurrent use,
// but one cassette must not be recorded by two providers at a time.
type Provider struct {
	config  Config
	secrets secrets

	mu       sync.Mutex // guards what follows
	cassette *cassette
	played   map[string]int  // by key: how many times
	renewed  map[string]bool // keys recorded by this provider
}

var _ llm.Provider = (*Provider)(nil)

// New returns a provider with the cassette read. In mode Replay the file must exist.
func New(config Config) (*Provider, error) {
	if config.Mode == "" {
		config.Mode = Replay
	}
	if config.Mode != Replay && config.Mode != Record && config.Mode != Auto {
		return nil, wording.Errorf("provider %s: the mode %q is not replay, record or auto", config.Name, config.Mode)
	}
	if config.Mode != Replay && config.Inner == nil {
		return nil, wording.Errorf("provider %s: mode %s needs a provider to ask", config.Name, config.Mode)
	}
	p := &Provider{
		config: config, secrets: newSecrets(config.Secrets),
		cassette: &cassette{}, played: map[string]int{}, renewed: map[string]bool{},
	}
	src, err := readFile(config.Path)
	if err == nil {
		p.cassette, err = parseCassette(src)
		if err != nil {
			return nil, wording.Errorf("%s:%w", config.Path, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) || config.Mode == Replay {
		return nil, wording.Errorf("reading the cassette: %w", err)
	}
	return p, nil
}

// readFile reads a cassette. A pipe would be waited for, a device may never end: neither is
// opened.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, wording.Errorf("%s is not a regular file", path)
	}
	return os.ReadFile(path)
}

// Chat plays the recording of the request, or records one. A request that comes
// several times gets its recordings in order, and then the last one again.
func (p *Provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, &llm.Error{Provider: p.config.Name, Err: err})
			return
		}
		hidden := p.secrets.with(p.config.Hidden.Forms())
		r, err := describeRequest(req, hidden)
		if err != nil {
			yield(llm.Delta{}, p.newError(err))
			return
		}
		if p.config.Mode != Record {
			if deltas, ok := p.nextRecording(r.key); ok {
				p.sendDeltas(ctx, deltas, yield)
				return
			}
			if p.config.Mode == Replay {
				yield(llm.Delta{}, p.missError(r))
				return
			}
		}
		if hidden.occurIn(r.request) {
			yield(llm.Delta{}, p.newError(errSecret))
			return
		}
		p.recordAnswer(ctx, req, r, hidden, yield)
	}
}

func (p *Provider) newError(err error) *llm.Error {
	return &llm.Error{Provider: p.config.Name, Err: err}
}

func (p *Provider) sendDeltas(ctx context.Context, deltas []llm.Delta, yield func(llm.Delta, error) bool) {
	for _, d := range deltas {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, p.newError(err))
			return
		}
		if !yield(d, nil) {
			return
		}
	}
}

// recordAnswer passes on the answer of the inner provider, and keeps it when it is whole.
func (p *Provider) recordAnswer(ctx context.Context, req *llm.Request, r recording, hidden secrets, yield func(llm.Delta, error) bool) {
	for d, err := range p.config.Inner.Chat(ctx, req) {
		if err == nil {
			r.deltas = append(r.deltas, withoutCost(d))
		}
		if !yield(d, err) || err != nil {
			return
		}
	}
	if err := p.keepRecording(r, hidden); err != nil {
		yield(llm.Delta{}, p.newError(wording.Errorf("recording the answer: %w", err)))
	}
}

// withoutCost returns d as a cassette has it: playing it again costs nothing.
func withoutCost(d llm.Delta) llm.Delta {
	if d.Usage == nil || d.Usage.Cost == 0 {
		return d
	}
	usage := *d.Usage
	usage.Cost = 0
	d.Usage = &usage
	return d
}

// keepRecording adds a recording to the cassette and writes the file, without what is hidden.
func (p *Provider) keepRecording(r recording, hidden secrets) error {
	deltas, err := hidden.maskDeltas(r.deltas)
	if err != nil {
		return err
	}
	r.deltas = deltas
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &cassette{recordings: slices.Clone(p.cassette.recordings)}
	if !p.renewed[r.key] {
		next.recordings = slices.DeleteFunc(next.recordings, func(old recording) bool { return old.key == r.key })
	}
	next.recordings = append(next.recordings, r)
	if err := next.write(p.config.Path); err != nil {
		return err
	}
	p.cassette, p.renewed[r.key] = next, true
	p.played[r.key]++ // in mode auto, this take has been heard
	return nil
}

// nextRecording returns the next recording of a request, if it has one.
func (p *Provider) nextRecording(key string) (deltas []llm.Delta, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	takes := p.cassette.recordingsOf(key)
	if len(takes) == 0 {
		return nil, false
	}
	take := takes[min(p.played[key], len(takes)-1)]
	p.played[key]++
	return take.deltas, true
}

// missError returns the error of a request that is not recorded: it shows the recorded
// request that is nearest to it, and what differs.
func (p *Provider) missError(r recording) *llm.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	hint := p.config.Hint
	if hint == "" {
		hint = "record it: run once in mode auto or record with a provider that can answer"
	}
	return describeMiss(&llm.Error{Provider: p.config.Name, Hint: hint, Unsent: true}, p.cassette, p.config.Path, p.config.Path, r)
}
