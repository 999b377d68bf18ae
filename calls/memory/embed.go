package memory

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/memory/vector"
)

// maxRefused is the number of texts in a row that may be refused before the embedder
// counts as failing.
const maxRefused = 3

// embeddingRun embeds the memories that wait, until none is left, the embedder fails or ctx ends.
// [SnapshotProcessor.Run] creates one each time. failure is the embedder's error; the memories then wait for the
// next run.
type embeddingRun struct {
	*Embeddings
	store Vectors
	users Users
	now   func() time.Time
	log   *slog.Logger

	model   Model
	done    int
	refused int
	failure error
}

func (d *embeddingRun) run(ctx context.Context) error {
	d.failure = d.restingError(d.now())
	if d.failure == nil {
		if err := d.prepareModel(ctx); err != nil {
			return err
		}
	}
	for ctx.Err() == nil && d.failure == nil {
		list, err := d.store.Unembedded(ctx, Claim{Now: d.now(), Users: d.users, Lease: lease}, embedBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := d.embedBatch(ctx, list); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// embedBatch embeds memories: new ones together, the ones of a failed batch one by one, because one of them may be
// the cause.
func (d *embeddingRun) embedBatch(ctx context.Context, list []Embedding) error {
	var fresh []Embedding
	var parts [][]Embedding
	for i := range list {
		if list[i].Attempts == 0 {
			fresh = append(fresh, list[i])
		} else {
			parts = append(parts, list[i:i+1])
		}
	}
	if len(fresh) > 0 {
		parts = append([][]Embedding{fresh}, parts...)
	}
	for _, part := range parts {
		if err := d.embedTogether(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// embedTogether embeds memories with one request, or postpones them.
func (d *embeddingRun) embedTogether(ctx context.Context, part []Embedding) error {
	err := cmp.Or(ctx.Err(), d.failure)
	if err == nil {
		texts := make([]string, len(part))
		for i := range part {
			texts[i] = part[i].Text
		}
		var vectors [][]float32
		vectors, err = d.embedTexts(ctx, texts, d.model.Dimensions, batchTimeouts*d.queryTimeout(), d.now())
		if err == nil {
			for i := range part {
				part[i].Vector = vectors[i]
			}
			d.done += len(part)
			d.refused = 0
			return d.store.SaveEmbeddings(ctx, d.model.Name, part)
		}
		d.refused++
	}
	wait := time.Duration(0)
	if ctx.Err() == nil && d.failure == nil { // else it is not their fault
		wait = min(longestWait, firstWait<<min(part[0].Attempts, 10))
		for i := range part {
			part[i].Attempts++
		}
		if isTemporary(err) || d.refused >= maxRefused {
			d.failure = err
		}
		d.log.Warn("memories are not embedded", "memories", len(part), "again after", wait, "error", err)
	}
	return d.store.PostponeEmbeddings(context.WithoutCancel(ctx), part, d.now().Add(wait))
}

// prepareModel makes the embedder's model the current one if it is not. It measures the
// scale of the model first.
func (d *embeddingRun) prepareModel(ctx context.Context) (err error) {
	name := d.Embedder.Model()
	d.model, err = d.store.Model(ctx)
	if err != nil || d.model.Name == name {
		return err
	}
	vectors, err := d.embedTexts(ctx, strings.Split(strings.TrimSpace(pairs), "\n"), 0, batchTimeouts*d.queryTimeout(), d.now())
	if err != nil {
		d.failure = err
		d.log.Warn("memories are not embedded", "error", err)
		return ctx.Err()
	}
	d.model = Model{Name: name, Dimensions: len(vectors[0])}
	d.model.Unrelated, d.model.Related = measureScale(vectors)
	return d.store.UseModel(ctx, d.model)
}

// pairs are questions, each followed by its answer: English ones, then as many Chinese
// ones.
const pairs = `
Where does she work?
I started as a nurse at the hospital in March.
What can he not eat?
Peanuts make me ill, I am allergic to them.
Which car do they drive?
We bought a second-hand Volvo from my uncle.
When is the wedding?
They will marry on the last Saturday in June.
她养了什么宠物？
我家有一只三岁的橘猫。
他周末喜欢做什么？
每个星期六我都去爬山。
孩子在哪里上学？
女儿九月开始在第三小学读一年级。
你最喜欢喝什么？
我每天早上都要喝一杯茉莉花茶。
`

// measureScale returns the average cosine of unrelated questions and answers, and of related ones. They are
// compared within their language.
func measureScale(vectors [][]float32) (unrelated, related float64) {
	var n, m float64
	half := len(vectors) / 2
	for q := 0; q < len(vectors); q += 2 {
		probe := vector.NewProbe(vectors[q])
		for a := q/half*half + 1; a < q/half*half+half; a += 2 {
			cosine, _ := probe.Cosine(vector.Pack(vectors[a])) // both have been checked
			if a == q+1 {
				related += cosine
				n++
			} else {
				unrelated += cosine
				m++
			}
		}
	}
	return unrelated / m, related / n
}
