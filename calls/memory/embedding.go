package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/vector"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Embedder turns texts into vectors that point in similar directions if the texts mean
// similar things. It is safe for concurrent use.
type Embedder interface {
	// Model returns the name of the model, with everything else that distinguishes its
	// vectors.
	Model() string
	// Embed returns a vector for each text, in their order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Embeddings searches by meaning, in addition to words. The program creates one for a
// [SnapshotProcessor]; it is safe for concurrent use.
type Embeddings struct {
	Embedder Embedder
	// Timeout bounds the time a search waits for the vector of its query; 0 is
	// [DefaultEmbeddingTimeout]. Batches of memories get ten times as long.
	Timeout time.Duration

	mu    sync.Mutex
	until time.Time // it is not asked again before
	cause error     // of the last failure
}

// DefaultEmbeddingTimeout is how long a search waits for the vector of its query.
const DefaultEmbeddingTimeout = 5 * time.Second

// Of embedding.
const (
	// embedBatch is the number of memories in a request.
	embedBatch = 64
	// batchTimeouts is the timeout of a batch in timeouts of a query.
	batchTimeouts = 10
	// restAfter is how long an embedder is not asked after a failure.
	restAfter = 30 * time.Second
)

func (e *Embeddings) queryTimeout() time.Duration { return cmp.Or(e.Timeout, DefaultEmbeddingTimeout) }

// The notes of a search without the vector of its query.
var (
	noteFailed  = calls.Text{En: "embeddings are not available, memories were found by their words alone: %v", Zh: "向量服务不可用，只按字词查找了记忆：%v"}
	noteNoneYet = calls.Text{
		En: "the memories are not embedded by %s yet, they were found by their words alone: scheduler memory snapshot run does it",
		Zh: "记忆尚未用 %s 生成向量，只按字词查找了记忆：可运行 scheduler memory snapshot run",
	}
)

// embedQuery returns the vector of a query. Without one, note is the reason.
func (e *Embeddings) embedQuery(ctx context.Context, store Store, q *Query, now time.Time) (v *QueryVector, note string, err error) {
	language := "en"
	if strings.ContainsFunc(q.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		language = "zh"
	}
	model, err := store.Model(ctx)
	if err != nil {
		return nil, "", err
	}
	if model.Name != e.Embedder.Model() {
		st, err := store.Stats(ctx, q.Users)
		if err != nil || st.Memories == 0 {
			return nil, "", err
		}
		return nil, fmt.Sprintf(noteNoneYet.In(language), e.Embedder.Model()), nil
	}
	vectors, err := e.embedTexts(ctx, []string{q.embeddedText()}, model.Dimensions, e.queryTimeout(), now)
	if err == nil {
		return &QueryVector{Model: model, Values: vectors[0]}, "", nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	return nil, fmt.Sprintf(noteFailed.In(language), err), nil
}

// shortQuery is the length in bytes below which a query means little by itself.
const shortQuery = 20

// embeddedText returns the text that is embedded for a query: a short question together with the user's last
// utterance before it.
func (q *Query) embeddedText() string {
	if n := len(q.Earlier); n > 0 && len(q.Text) < shortQuery {
		return truncateRunes(q.Earlier[n-1], maxEmbedded) + "\n" + q.Text
	}
	return truncateRunes(q.Text, maxEmbedded)
}

// embedTexts asks for vectors within a timeout and checks them. dimensions is their
// length, 0 for any. After a failure the embedder is not asked for a while.
func (e *Embeddings) embedTexts(ctx context.Context, texts []string, dimensions int, timeout time.Duration, now time.Time) (vectors [][]float32, err error) {
	if err := e.restingError(now); err != nil {
		return nil, err
	}
	short, cancel := context.WithTimeoutCause(ctx, timeout, wording.Errorf("no vectors from %s within %s", e.Embedder.Model(), timeout))
	defer cancel()
	vectors, err = e.Embedder.Embed(short, texts)
	if err == nil {
		err = checkVectors(vectors, len(texts), dimensions)
	} else if short.Err() != nil && ctx.Err() == nil {
		err = context.Cause(short)
	}
	if err != nil && ctx.Err() == nil && isTemporary(err) {
		e.mu.Lock()
		e.until, e.cause = now.Add(restAfter), err
		e.mu.Unlock()
	}
	return vectors, err
}

// restingError returns the last failure as long as the embedder is not asked again.
func (e *Embeddings) restingError(now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Before(e.until) {
		return e.cause
	}
	return nil
}

// isTemporary reports whether other texts would fail as well now, in contrast to a text
// that a server refused.
func isTemporary(err error) bool {
	var known *llm.Error
	return !errors.As(err, &known) || known.Temporary
}

// checkVectors checks that there is one valid vector for each text.
func checkVectors(vectors [][]float32, n, dimensions int) error {
	if len(vectors) != n {
		return wording.Errorf("%d vectors came for %d texts", len(vectors), n)
	}
	for _, v := range vectors {
		if dimensions > 0 && len(v) != dimensions {
			return wording.Errorf("a vector has %d numbers, want %d", len(v), dimensions)
		}
		if err := vector.Check(v); err != nil {
			return err
		}
		dimensions = len(v)
	}
	return nil
}
