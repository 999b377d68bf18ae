package processor

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Take puts an answer over the data: keys may be names, or pointers as in [Processor.Convert]. It leaves out and
// records values that the schema does not know or that do not fit it, and values that would replace a known valid
// one. There are exceptions: if the data is wrong as a whole, for example in no branch of a union, its members are
// not known to be valid, and are removed when that repairs it; and answers of [User] may replace known values.
// Null means "not known" if the schema has no null. If the schema does not allow objects, the answer may be the
// value itself. It returns how many pieces were taken.
func (f *Filling) Take(answer value.Value, source Source) int {
	if answer.Kind() != value.Object && !f.p.TakesObjects() {
		answer = value.OfMap(value.Pairs("", answer))
	}
	if answer.Kind() != value.Object {
		f.reject("", answer, f.p.say("the answer is not an object"))
		return 0
	}
	t := f.newMerge(source)
	for key, member := range answer.Map().All() {
		tokens, err := f.p.parseKey(key)
		if err != nil {
			f.reject(key, member, f.p.explain(err))
			continue
		}
		if key == "/" && t.hasNameless() {
			tokens = []string{""} // a member without a name, by its pointer
		}
		if key == "" && len(t.open[""]) > 0 && member.Kind() == value.Object {
			tokens = nil // the root was asked for, by its pointer
		}
		t.offerValue(tokens, member, strings.HasPrefix(key, "/") || len(tokens) == 0)
	}
	return t.finish()
}

// hasNameless reports whether the data has a member with the name "", or one is missing.
func (t *answerMerge) hasNameless() bool {
	_, has := t.data.Get("")
	return has || t.above["/"] || len(t.open["/"]) > 0
}

// ApplyDefaults sets missing properties to the defaults that the schema has for them, if those fit. A default that
// does not fit is only reported if it is the property's own, not the default of another branch of a union.
func (f *Filling) ApplyDefaults() {
	for range maxRounds {
		t, found := f.newMerge(Default), false
		before, borrowed := len(f.rejected), map[string]bool{}
		for _, fault := range f.faults {
			if fault.Keyword != "required" {
				continue
			}
			def, ok := f.defaultOf(fault)
			tokens, err := parsePointer(fault.Pointer)
			if _, has := f.data.At(fault.Pointer); ok && err == nil && !has {
				found = true
				if _, own := fault.Schema.Get("default"); !own {
					borrowed[fault.Pointer] = true
				}
				t.setValue(tokens, t.p.convertFormats(deepCopy(def), tokens, t.now), true)
			}
		}
		if !found {
			return
		}
		taken := t.finish()
		said := slices.DeleteFunc(f.rejected[before:], func(r Rejection) bool { return borrowed[r.Pointer] })
		f.rejected = f.rejected[:before+len(said)]
		if taken == 0 {
			return
		}
	}
}

// ApplyConstants sets missing properties that can have one value only, by const or an enum of one, without asking.
func (f *Filling) ApplyConstants() {
	for range maxRounds {
		t, found := f.newMerge(Default), false
		for _, fault := range f.faults {
			only, ok := onlyValue(fault.Schema)
			tokens, err := parsePointer(fault.Pointer)
			isMissing := fault.Keyword == "required" && ok && err == nil
			if _, has := f.data.At(fault.Pointer); isMissing && !has {
				found = true
				t.setValue(tokens, deepCopy(only), true)
			}
		}
		if !found || t.finish() == 0 {
			return
		}
	}
}

func (f *Filling) defaultOf(fault schema.Fault) (value.Value, bool) {
	if def, ok := fault.Schema.Get("default"); ok {
		return def, true
	}
	for _, sub := range f.p.schema.Describe(fault.Pointer).All {
		if def, ok := sub.Get("default"); ok {
			return def, true
		}
	}
	return value.Value{}, false
}
