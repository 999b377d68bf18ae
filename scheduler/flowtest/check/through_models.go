package check

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/scheduler/explain"
)

// modelReaders finds models that had read a source before they wrote a text: their answers may pass it on, although no byte of it is
// known to be in them. A check makes one for a piece.
type modelReaders struct {
	of     *Evidence
	source string
	// own is the step whose prompt is checked: in the rounds of an agent its own answers are not new.
	own string
	// known says for steps whether their models had read it; false also while that is found out.
	known map[string]bool
}

// find returns a step whose model wrote the text of a way, or a part of it, and had read the source, directly or
// in the answer of another model; "" if there is none.
func (r *modelReaders) find(ctx context.Context, way []explain.Source) (step string) {
	for _, step := range modelSteps(way) {
		isOwn := step == r.own || strings.HasPrefix(r.own, step+"/")
		if !isOwn && r.hasRead(ctx, step) {
			return step
		}
	}
	return ""
}

// hasRead reports whether the model of a step had read the source.
func (r *modelReaders) hasRead(ctx context.Context, step string) bool {
	if has, isKnown := r.known[step]; isKnown {
		return has
	}
	r.known[step] = false
	for _, id := range r.of.itemsOf(step) {
		prompts, err := r.of.Explain(ctx, id)
		if err != nil { // it asked nothing
			continue
		}
		for _, e := range prompts {
			for _, f := range piecesOf(e) {
				way := f.piece.Sources
				if comesFrom(way, r.source) || mayComeFrom(way, r.source) || r.find(ctx, way) != "" {
					r.known[step] = true
					return true
				}
			}
		}
	}
	return false
}

// itemsOf returns the ids of the items of a step, or the step itself if it runs once.
func (e *Evidence) itemsOf(step string) (ids []string) {
	got := e.Record.Step(step)
	if got == nil || len(got.Items) == 0 {
		return []string{step}
	}
	return itemIDs(got)
}

// modelSteps lists the steps whose models wrote a text or contributed to it, by its way; none if no model did.
func modelSteps(way []explain.Source) (steps []string) {
	hasModel := false
	visit := func(s *explain.Source) {
		hasModel = hasModel || s.Kind == explain.SourceModel
		if s.Kind == explain.SourceStep && s.Call != "" && s.Step != "" {
			steps = append(steps, s.Step)
		}
	}
	for i := range way {
		visit(&way[i])
		for j := range way[i].Origins {
			visit(&way[i].Origins[j])
		}
		for j := range way[i].Possible {
			visit(&way[i].Possible[j])
		}
	}
	if !hasModel {
		return nil
	}
	return steps
}
