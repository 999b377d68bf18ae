package check

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/journal"
)

// anyItem means each item, of a step with for_each or of a list: parts[*], items[*].name.
const anyItem = "[*]"

// isMany reports whether the subject is one for each item: its matchers must hold for all of them.
func (s *parsedSubject) isMany() bool {
	return strings.Contains(s.step, anyItem) || slices.Contains(s.path, anyItem)
}

// firstItem returns a path of a step with the first item in place of each.
func firstItem(step string) string { return strings.ReplaceAll(step, anyItem, "[0]") }

// decideEach returns the worst verdict of the matchers on the items, with its item. Without an item nothing was
// checked, which is a fail.
func (c *Check) decideEach(ctx context.Context, e *Evidence) (worst *verdict, values value.Value) {
	items, failed := c.subject.expand(ctx, e)
	if failed != nil {
		return failed, values
	}
	if len(items) == 0 {
		return failf("there are no items of %s: nothing was checked", c.subject.text), values
	}
	var seen []value.Value
	for _, item := range items {
		of, v := item.resolve(ctx, e)
		if v == nil {
			seen = append(seen, of.shownValue())
			v = c.decide(ctx, of)
		}
		if v.message.En != "" {
			v.message = wording.Say("%s: %s", item.String(), v.message)
		}
		if worst == nil || result.Worse(worst.outcome, v.outcome) != worst.outcome {
			if worst != nil {
				v.score = lowest(worst.score, v.score)
			}
			worst = v
		} else {
			worst.score = lowest(worst.score, v.score)
		}
	}
	return worst, value.OfList(seen...)
}

// expand returns a subject for each item; failed says why there are no items.
func (s *parsedSubject) expand(ctx context.Context, e *Evidence) (all []*parsedSubject, failed *verdict) {
	if before, after, isMany := strings.Cut(s.step, anyItem); isMany {
		got := e.Record.Step(before)
		if got == nil || got.State == journal.StepStatusSkipped {
			return nil, absentStep(e, firstItem(before))
		}
		for _, id := range itemIDs(got) {
			one := *s
			one.step, one.text = id+after, strings.Replace(s.text, before+anyItem, id, 1)
			below, failed := one.expand(ctx, e)
			if failed != nil {
				return nil, failed
			}
			all = append(all, below...)
		}
		return all, nil
	}
	at := slices.Index(s.path, anyItem)
	if at < 0 {
		return []*parsedSubject{s}, nil
	}
	list := *s
	list.path = s.path[:at]
	of, failed := list.resolve(ctx, e)
	if failed != nil {
		return nil, failed
	}
	for i := range of.value.List() {
		one := *s
		number := strconv.Itoa(i)
		one.path = slices.Concat(s.path[:at], []string{number}, s.path[at+1:])
		one.text = strings.Replace(s.text, anyItem, "["+number+"]", 1)
		below, failed := one.expand(ctx, e)
		if failed != nil {
			return nil, failed
		}
		all = append(all, below...)
	}
	return all, nil
}

// itemIDs lists the items of a step by their index: they came up in any order.
func itemIDs(s *journal.StepState) []string {
	ids := make([]string, len(s.Items))
	for _, item := range s.Items {
		if _, index := journal.SplitPath(item.ID); index != nil && *index < len(ids) {
			ids[*index] = item.ID
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}
