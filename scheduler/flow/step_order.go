package flow

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/llm/prompt"
)

// stepOrder answers questions about the order of steps.
type stepOrder struct {
	steps []*Step
	// sorted has the steps, each after the steps it needs; steps in or after a circle are missing.
	sorted []int
	// circles are the circles of needs, one of each tangle.
	circles [][]int
	rank    []int // by step: its place in sorted, -1 for none
	// skippable marks the steps that may be skipped.
	skippable []bool
	// With every step that may be skipped goes the nearest one that is sure to have
	// run when it runs, as a tree with shortcuts to the root.
	parent, jump, depth []int
}

func newStepOrder(steps []*Step) *stepOrder {
	n := len(steps)
	o := &stepOrder{
		steps: steps, rank: make([]int, n), skippable: make([]bool, n),
		parent: make([]int, n), jump: make([]int, n), depth: make([]int, n),
	}
	waiting := make([]int, n)
	for i, s := range steps {
		o.rank[i] = -1
		waiting[i] = len(s.Needs)
		if waiting[i] == 0 {
			o.sorted = append(o.sorted, i)
		}
	}
	for at := 0; at < len(o.sorted); at++ {
		i := o.sorted[at]
		o.rank[i] = at
		o.settleStep(i)
		for _, next := range steps[i].Next {
			waiting[next]--
			if waiting[next] == 0 {
				o.sorted = append(o.sorted, next)
			}
		}
	}
	if len(o.sorted) < n {
		o.circles = findCircles(steps, o.rank)
	}
	return o
}

// settleStep finds whether a step may be skipped, and the steps that must have run when it runs: all its needs are
// settled before.
func (o *stepOrder) settleStep(i int) {
	s := o.steps[i]
	allSkippable := !s.Implicit && len(s.Needs) > 0
	for _, n := range s.Needs {
		allSkippable = allSkippable && o.skippable[n]
	}
	yes, known := constantCondition(s.When)
	o.skippable[i] = allSkippable || !known || !yes
	o.parent[i], o.jump[i] = i, i // a root of its own
	if !allSkippable {
		return // a step that is never skipped has run, and says nothing about the others
	}
	nearest := s.Needs[0]
	for _, n := range s.Needs[1:] {
		nearest = o.commonAncestor(nearest, n)
		if nearest < 0 {
			return
		}
	}
	p := nearest
	o.parent[i], o.depth[i] = p, o.depth[p]+1
	o.jump[i] = p
	if j := o.jump[p]; o.depth[p]-o.depth[j] == o.depth[j]-o.depth[o.jump[j]] {
		o.jump[i] = o.jump[j]
	}
}

// ancestorAt returns the step at that depth on the way from i to its root.
func (o *stepOrder) ancestorAt(i, depth int) int {
	for o.depth[i] > depth {
		if o.depth[o.jump[i]] >= depth {
			i = o.jump[i]
		} else {
			i = o.parent[i]
		}
	}
	return i
}

// commonAncestor returns the nearest step that both a and b depend on, -1 for none.
func (o *stepOrder) commonAncestor(a, b int) int {
	depth := min(o.depth[a], o.depth[b])
	a, b = o.ancestorAt(a, depth), o.ancestorAt(b, depth)
	for a != b {
		switch {
		case o.parent[a] == a || o.parent[b] == b:
			return -1
		case o.jump[a] != o.jump[b]:
			a, b = o.jump[a], o.jump[b]
		default:
			a, b = o.parent[a], o.parent[b]
		}
	}
	return a
}

// surelyRan reports whether the upstream step a is sure to have run when b runs.
func (o *stepOrder) surelyRan(a, b int) bool {
	if !o.skippable[a] {
		return true
	}
	return o.depth[a] <= o.depth[b] && o.ancestorAt(b, o.depth[a]) == a
}

// areUpstream answers for pairs of steps (a, b) whether a is an ancestor of b. All
// are asked together: 64 different a walk down the flow at a time, in the order of
// the steps, so that the cost is linear in steps for every 64 questions.
func (o *stepOrder) areUpstream(pairs [][2]int) []bool {
	answers := make([]bool, len(pairs))
	byFirst := make([]int, 0, len(pairs))
	for i, p := range pairs {
		if o.rank[p[0]] < 0 || o.rank[p[1]] < 0 {
			answers[i] = true // in or after a circle: that is the problem
		} else if needs := o.steps[p[1]].Needs; slices.Contains(needs[:min(len(needs), 64)], p[0]) {
			answers[i] = true
		} else if o.rank[p[0]] < o.rank[p[1]] {
			byFirst = append(byFirst, i)
		}
	}
	slices.SortFunc(byFirst, func(x, y int) int { return o.rank[pairs[x][0]] - o.rank[pairs[y][0]] })
	seen := make([]uint64, len(o.steps))
	for len(byFirst) > 0 {
		var sources []int // at most 64 different first steps
		batch := 0
		last := 0
		for _, i := range byFirst {
			if a := pairs[i][0]; len(sources) == 0 || sources[len(sources)-1] != a {
				if len(sources) == 64 {
					break
				}
				sources = append(sources, a)
			}
			last = max(last, o.rank[pairs[i][1]])
			batch++
		}
		o.markUpstream(sources, last, seen)
		source := 0
		for _, i := range byFirst[:batch] {
			for sources[source] != pairs[i][0] {
				source++
			}
			answers[i] = seen[pairs[i][1]]>>source&1 == 1
		}
		byFirst = byFirst[batch:]
	}
	return answers
}

// markUpstream marks in seen, for every step from the first source to the one of rank
// last, which sources are upstream of it.
func (o *stepOrder) markUpstream(sources []int, last int, seen []uint64) {
	first := o.rank[sources[0]]
	window := o.sorted[first : last+1]
	for _, i := range window {
		seen[i] = 0
	}
	bit := make(map[int]uint64, len(sources))
	for j, a := range sources {
		bit[a] = 1 << j
	}
	for _, i := range window {
		for _, n := range o.steps[i].Needs {
			if o.rank[n] >= first {
				seen[i] |= seen[n] | bit[n]
			}
		}
	}
}

// findCircles finds one circle in every tangle of steps that need each other,
// by Tarjan's strongly connected components, without recursion. Only steps without a rank are visited.
func findCircles(steps []*Step, rank []int) (circles [][]int) {
	type frame struct{ step, need int }
	number, low := make([]int, len(steps)), make([]int, len(steps))
	component := make([]int, len(steps)) // 0: none yet
	var stack []int
	counter, components := 0, 0
	for root := range steps {
		if rank[root] >= 0 || number[root] > 0 {
			continue
		}
		frames := []frame{{root, 0}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.need == 0 {
				counter++
				number[f.step], low[f.step] = counter, counter
				stack = append(stack, f.step)
			}
			if f.need < len(steps[f.step].Needs) {
				n := steps[f.step].Needs[f.need]
				f.need++
				switch {
				case rank[n] >= 0:
				case number[n] == 0:
					frames = append(frames, frame{n, 0})
				case component[n] == 0:
					low[f.step] = min(low[f.step], number[n])
				}
				continue
			}
			done := f.step
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				outer := frames[len(frames)-1].step
				low[outer] = min(low[outer], low[done])
			}
			if low[done] != number[done] {
				continue
			}
			components++
			at := len(stack)
			for component[done] == 0 {
				at--
				component[stack[at]] = components
			}
			if len(stack)-at > 1 {
				circles = append(circles, circleIn(steps, component, done))
			}
			stack = stack[:at]
		}
	}
	return circles
}

// circleIn follows needs within a component until a step comes again.
func circleIn(steps []*Step, component []int, start int) []int {
	var path []int
	at := map[int]int{}
	for i := start; ; {
		if first, again := at[i]; again {
			return path[first:]
		}
		at[i] = len(path)
		path = append(path, i)
		for _, n := range steps[i].Needs {
			if component[n] == component[i] {
				i = n
				break
			}
		}
	}
}

// constantCondition is the truth of a condition that mentions nothing.
func constantCondition(when *Param) (yes, known bool) {
	if when == nil {
		return true, true
	}
	if when.Expr != nil {
		return constantExpr(when.Expr)
	}
	v, static := when.Static()
	yes, isBool := v.Bool()
	return yes, static && isBool
}

// constantExpr is the truth of an expression without names.
func constantExpr(e *prompt.Expr) (yes, known bool) {
	if len(e.Refs()) > 0 {
		return false, false
	}
	v, err := e.Eval(context.Background(), prompt.Values{})
	return err == nil && prompt.Truthy(v), err == nil
}
