package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The effect of facts on relevances. Memories that answer come first; memories that no longer hold fall below the
// default cut, in their order, and the others below the answer.
const (
	answerRelevance    = 0.98
	manyRelevance      = 0.70
	answerStep         = 0.002
	othersRelevance    = 0.90
	supersededCap      = 0.45
	supersededFraction = 100
)

// verdict says how facts judge one memory.
type verdict struct {
	judged facts.Judged
	// rank is its place among the answers, or -1 if it no longer holds.
	rank int
}

// verdicts judge the memories of one search; nil if facts do not answer.
type verdicts struct {
	of map[uint32]verdict
	// order has the numbers of the answers.
	order    []uint32
	many     bool
	isSingle bool
	// updates orders memories that no fact judges; nil does not.
	updates *facts.Updates
	// ids are the ids of the memories that replaced others.
	ids map[uint32]string
}

// askFacts asks the facts of a user. It returns nil if the question is not about facts, or they do not answer.
func (q *Query) askFacts(ctx context.Context, index UserIndex) (*verdicts, error) {
	source, ok := index.(facts.Source)
	if !ok || q.NoFacts {
		return nil, nil
	}
	question, ok := facts.ReadQuestion(q.Text, q.Now)
	if !ok {
		return q.orderUpdates(), nil
	}
	ix := index.Index()
	if len(ix.Speakers) == 1 && slices.Contains(question.Subjects, facts.Self) { // the user is the only speaker
		question.Subjects = append(question.Subjects, facts.FoldName(ix.Speakers[0]))
	}
	aliases, err := source.Aliases(ctx)
	if err != nil {
		return nil, err
	}
	subjects, attributes := question.Wanted(aliases)
	list, err := source.Facts(ctx, subjects, attributes)
	if err != nil {
		return nil, err
	}
	keep := q.entryFilter(index.SessionNumber(q.Session))
	list = slices.DeleteFunc(list, func(f facts.Fact) bool {
		if int(f.Seq) >= ix.Len() {
			return true // saved after the index was read
		}
		e := ix.Entry(f.Seq)
		return e.Deleted || keep != nil && !keep(f.Seq, e)
	})
	answer := question.Answer(list, aliases, q.Now)
	if answer.IsEmpty() {
		return q.orderUpdates(), nil
	}
	v := newVerdicts(&answer)
	v.isSingle = question.Mode != facts.All && !answer.Many
	return v, v.loadNext(ctx, index)
}

// orderUpdates returns verdicts for a question that facts do not answer: they judge no memory, but later memories
// may come before older ones. It returns nil if the question does not ask for the present.
func (q *Query) orderUpdates() *verdicts {
	u := facts.ReadUpdates(q.Text, q.Now)
	if u == nil {
		return nil
	}
	return &verdicts{updates: u}
}

// preferUpdate puts the latest memory that updates the best one before it. It changes the order of the best and never
// drops any.
func (v *verdicts) preferUpdate(out []Scored) {
	if v == nil || v.updates == nil || len(out) < 2 {
		return
	}
	best, latest := &out[0], 0
	for i := range out {
		s := &out[i]
		isLater := s.Memory.Timestamp.After(out[latest].Memory.Timestamp) && s.Memory.Timestamp.After(best.Memory.Timestamp)
		isSame := s.Memory.Speaker() == best.Memory.Speaker() && s.Memory.Role() == best.Memory.Role()
		if isLater && isSame && v.updates.Replaces(best.Memory.Content, s.Memory.Content) {
			latest = i
		}
	}
	if latest == 0 {
		return
	}
	top := out[latest]
	top.Relevance = best.Relevance
	copy(out[1:latest+1], out[:latest])
	out[0] = top
	out[1].Relevance = max(0, roundRelevance(out[1].Relevance-answerStep/1000))
}

func newVerdicts(a *facts.Answer) *verdicts {
	v := &verdicts{of: map[uint32]verdict{}, many: a.Many, ids: map[uint32]string{}}
	place := 0
	for i, j := range a.Lead {
		if i > 0 && !(j.Standing == facts.Conflicting && a.Lead[i-1].Standing == facts.Conflicting) {
			place++ // both of a conflict are alike
		}
		if _, known := v.of[j.Seq]; !known {
			v.of[j.Seq] = verdict{judged: j, rank: place}
			v.order = append(v.order, j.Seq)
		}
	}
	for _, j := range a.Superseded {
		if _, known := v.of[j.Seq]; !known {
			v.of[j.Seq] = verdict{judged: j, rank: -1}
		}
	}
	return v
}

// loadNext loads the ids of the memories that replaced others.
func (v *verdicts) loadNext(ctx context.Context, index UserIndex) error {
	var seqs []uint32
	for _, d := range v.of {
		if next := d.judged.Next; next != nil {
			seqs = append(seqs, next.Seq)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	memories, err := index.Load(ctx, seqs)
	if err != nil {
		return err
	}
	for i, seq := range seqs {
		v.ids[seq] = memories[i].ID
	}
	return nil
}

// putFirst puts the answers before the hits, even answers that no word found.
func (v *verdicts) putFirst(r *ranking) {
	if v == nil {
		return
	}
	first := make([]rank.Hit, 0, len(r.hits)+len(v.order))
	for _, seq := range v.order {
		hit := rank.Hit{Seq: seq}
		if at := slices.IndexFunc(r.hits, func(h rank.Hit) bool { return h.Seq == seq }); at >= 0 {
			hit = r.hits[at]
		}
		first = append(first, hit)
	}
	for _, h := range r.hits {
		if !slices.Contains(v.order, h.Seq) {
			first = append(first, h)
		}
	}
	r.hits = first
}

// isAnswer reports whether a memory answers.
func (v *verdicts) isAnswer(seq uint32) bool {
	if v == nil {
		return false
	}
	d, ok := v.of[seq]
	return ok && d.rank >= 0
}

// relevance returns the relevance of a memory in the light of the verdicts; own is its relevance without them.
func (v *verdicts) relevance(seq uint32, own float64) float64 {
	if v == nil {
		return own
	}
	d, known := v.of[seq]
	step := answerStep * float64(d.rank)
	switch {
	case !known && v.isSingle:
		return min(own, othersRelevance)
	case !known:
		return own
	case d.rank < 0:
		return min(own, supersededCap+own/supersededFraction)
	case v.many:
		return max(own, manyRelevance-step)
	}
	return max(answerRelevance-step, othersRelevance+0.001)
}

// judgedOf returns the fact by which a memory was judged; nil if none judged it.
func (v *verdicts) judgedOf(seq uint32) *facts.Judged {
	if v == nil {
		return nil
	}
	if d, ok := v.of[seq]; ok {
		return &d.judged
	}
	return nil
}

// The pieces of a reason that facts give.
var (
	reasonHolds    = calls.Text{En: "holds since %s (%s: %s)", Zh: "自%s起有效（%s：%s）"}
	reasonUntil    = calls.Text{En: "until %s, then %s", Zh: "%s前有效，之后见 %s"}
	reasonEnded    = calls.Text{En: "ended %s", Zh: "已于%s结束"}
	reasonConflict = calls.Text{En: "conflicts with %s", Zh: "与 %s 冲突"}
	reasonHeld     = calls.Text{En: "held from %s to %s", Zh: "自%s至%s有效"}
)

// explainFact returns a fact's piece of a reason; "" if no fact judged the memory.
func (q *Query) explainFact(v *verdicts, seq uint32, language string) string {
	j := v.judgedOf(seq)
	if j == nil {
		return ""
	}
	say := func(text calls.Text, args ...any) string { return fmt.Sprintf(text.In(language), args...) }
	isChinese := wording.IsChinese(language)
	from, until := dateText(j.From.In(q.Now.Location()), isChinese), dateText(j.Until.In(q.Now.Location()), isChinese)
	switch {
	case j.Standing == facts.Conflicting && j.Next != nil:
		return say(reasonConflict, v.ids[j.Next.Seq])
	case j.Standing == facts.Until && v.isAnswer(seq), j.Standing == facts.WasPast && !j.Until.IsZero():
		return say(reasonHeld, from, until)
	case j.Standing == facts.Until && j.Next != nil:
		return say(reasonUntil, until, v.ids[j.Next.Seq])
	case j.Standing == facts.Ended:
		return say(reasonEnded, from)
	case j.Standing == facts.Current:
		return say(reasonHolds, from, labelOf(j), strings.TrimSpace(j.Value))
	}
	return ""
}

// labelOf names the attribute of a fact: home, or thesis deadline.
func labelOf(j *facts.Judged) string {
	if j.Topic != "" {
		return j.Topic
	}
	return j.Attribute
}
