package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// randomFlow draws a flow of steps with needs anywhere in the file, and some with
// a condition; without circles, needs point backwards in a hidden order.
func randomFlow(t *rapid.T, circles bool) string {
	n := rapid.IntRange(1, 12).Draw(t, "steps")
	hidden := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	})).Draw(t, "order")
	var b strings.Builder
	b.WriteString("inputs: {type: object}\nsteps:\n")
	for i := range n {
		var needs []string
		for j := range n {
			if j != i && (circles || hidden[j] < hidden[i]) && rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				needs = append(needs, fmt.Sprintf("s%d", j))
			}
		}
		when := ""
		if rapid.IntRange(0, 2).Draw(t, "when") == 0 {
			when = `, when: "{{ inputs.x }}"`
		}
		fmt.Fprintf(&b, "  - {id: s%d, call: chat, needs: [%s]%s}\n", i, strings.Join(needs, ", "), when)
	}
	return b.String()
}

// loadUnit loads a flow and keeps lint's data about it.
func loadUnit(t testing.TB, src string) *unit {
	ld := &loading{Loader: fakeLoader(t), ctx: t.Context()}
	u := &unit{
		decoder: decoder{newFlowText("f.yaml", []byte(src)), &report{}},
		loading: ld, dir: ".", flow: &Flow{File: "f.yaml"}, byID: map[string]int{},
	}
	u.process()
	return u
}

// The steps that may be skipped, and those sure to have run, are found by trying all outcomes of all conditions.
func TestOrderAgainstAllOutcomes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		u := loadUnit(t, randomFlow(rt, false))
		n := len(u.steps)
		var conditions []int
		for i, s := range u.steps {
			if s.When != nil {
				conditions = append(conditions, i)
			}
		}
		skipped := make([]bool, n) // in some outcome
		apart := make([][]bool, n) // apart[a][b]: b ran and a did not, in some outcome
		ancestor := make([][]bool, n)
		for i := range n {
			apart[i] = make([]bool, n)
			ancestor[i] = make([]bool, n)
			for _, a := range u.flow.Ancestors(i) {
				ancestor[i][a] = true
			}
		}
		for outcome := range 1 << len(conditions) {
			ran := make([]bool, n)
			for _, i := range u.order.sorted {
				s := u.steps[i]
				ran[i] = len(s.Needs) == 0 || slices.ContainsFunc(s.Needs, func(j int) bool { return ran[j] })
				if c := slices.Index(conditions, i); c >= 0 && outcome>>c&1 == 0 {
					ran[i] = false
				}
			}
			for b := range n {
				skipped[b] = skipped[b] || !ran[b]
				for a := range n {
					apart[a][b] = apart[a][b] || ran[b] && !ran[a]
				}
			}
		}
		var pairs [][2]int
		for a := range n {
			if u.order.skippable[a] != skipped[a] {
				rt.Fatalf("s%d skippable: %v, by trying: %v", a, u.order.skippable[a], skipped[a])
			}
			for b := range n {
				if a == b {
					continue
				}
				pairs = append(pairs, [2]int{a, b})
				// An extra warning would be wrong if the output is sure to exist; the analysis may not see every such case,
				// but must never miss a danger.
				if ancestor[b][a] && u.order.surelyRan(a, b) && apart[a][b] {
					rt.Fatalf("s%d is said to have run whenever s%d does", a, b)
				}
			}
		}
		for i, is := range u.order.areUpstream(pairs) {
			if a, b := pairs[i][0], pairs[i][1]; is != ancestor[b][a] {
				rt.Fatalf("s%d upstream of s%d: %v", a, b, is)
			}
		}
	})
}

func TestCircles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		u := loadUnit(t, randomFlow(rt, true))
		if (len(u.order.sorted) < len(u.steps)) != (len(u.order.circles) > 0) {
			rt.Fatalf("%d of %d steps in order, but %d circles", len(u.order.sorted), len(u.steps), len(u.order.circles))
		}
		for _, circle := range u.order.circles {
			for i, s := range circle {
				if next := circle[(i+1)%len(circle)]; !slices.Contains(u.steps[s].Needs, next) {
					rt.Fatalf("%v is no circle: s%d does not need s%d", circle, s, next)
				}
			}
		}
	})
}

// More than 64 sources, asked about from far away.
func TestUpstreamInBatches(t *testing.T) {
	var b strings.Builder
	b.WriteString("steps:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  - {id: s%d, call: chat, needs: [%s]}\n", i, map[bool]string{true: fmt.Sprintf("s%d", i-2)}[i > 1])
	}
	u := loadUnit(t, b.String())
	var pairs [][2]int
	for a := range 300 {
		for b := 0; b < 300; b += 7 {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	for i, is := range u.order.areUpstream(pairs) {
		if a, b := pairs[i][0], pairs[i][1]; is != (a < b && a%2 == b%2) {
			t.Fatalf("s%d upstream of s%d: %v", a, b, is)
		}
	}
}
