package processor

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Take puts an answer over the data: keys may be names, or pointers as in
// [Processor.Convert]. What the schema does not know, what does not fit it, and
// what would replace a known valid value is left out and recorded; where the data is
// wrong as a whole, in no branch of a union for one, its members are not known to be
// valid, and go when that mends it. Null stands for
// "not known" where the schema has no null. Answers of [User] may replace what is
// known. Where the schema takes no objects, the answer may be the value itself. It
// returns how many pieces were taken.
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

// ApplyDefaults sets missing properties to the defaults that the schema has for
// them, where those fit. Nothing is said of one that does not and is not the
// property's own: that of another branch of a union.
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

// ApplyConstants sets missing properties that can have one value only, by const or an enum of one: nobody has to be asked for them.
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
