package constancy

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

func (a *abstraction) addConstant(v value.Value) {
	if !slices.ContainsFunc(a.constants, func(c value.Value) bool { return value.Equal(c, v) }) {
		a.constants = append(a.constants, v)
	}
}

// addProbes gives each unknown the values that it is tried with.
func (a *abstraction) addProbes() {
	all := a.values()
	for _, u := range a.unknowns {
		values := all
		if u.values != nil {
			values = u.values
		}
		for _, v := range values {
			if n, isNumber := v.Float(); !u.isCount || isNumber && n >= 0 {
				u.probes = append(u.probes, probe{value: v})
			}
		}
		if u.mayMiss {
			u.probes = append(u.probes, probe{isMissing: true})
		}
	}
}

// values lists the values that anything is tried with: some of every kind, and for each constant of the expression
// its neighbours and values that contain it.
func (a *abstraction) values() (all []value.Value) {
	add := func(v value.Value) {
		if !slices.ContainsFunc(all, func(other value.Value) bool { return other.Kind() == v.Kind() && value.Equal(other, v) }) {
			all = append(all, v)
		}
	}
	var texts []string
	for _, v := range a.constants {
		add(v)
		if n, ok := v.Float(); ok {
			add(value.OfFloat(n - 1))
			add(value.OfFloat(n + 1))
		}
		if text, ok := v.Str(); ok {
			texts = append(texts, text)
			add(value.OfString(text + "~"))
		}
	}
	for _, text := range []string{"", "zq", "\U0010ffff", strings.Join(texts, "")} {
		add(value.OfString(text))
	}
	for _, n := range []float64{0, 1, -1e12, 1e12} {
		add(value.OfFloat(n))
	}
	add(value.OfBool(true))
	add(value.OfBool(false))
	add(value.Value{})
	add(value.OfList())
	add(value.OfList(a.constants...))
	members := value.NewMap(len(texts))
	add(value.OfMap(value.NewMap(0)))
	for _, text := range texts {
		members.Set(text, value.OfString(text))
	}
	add(value.OfMap(members))
	return all
}
