package processor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Source says how a value was found.
type Source string

// The sources. A strategy of the call slot has its own name.
const (
	Known   Source = "known"   // it was there from the start
	User    Source = "user"    // a person answered
	Default Source = "default" // the schema's default
)

// Filling is data that is filled against a schema. [Processor.Fill] creates it, once
// per step or answer; it is used by one goroutine.
type Filling struct {
	p        *Processor
	schema   *schema.Schema // the schema of p, or with its formats as checks
	now      time.Time
	data     value.Value
	faults   []schema.Fault
	sources  map[string]Source // of whole values below a pointer
	rejected []Rejection
	heard    map[string]bool           // the words of the user, as [Filling.Hear] has them
	refused  string                    // the user's message if it refuses or asks back, normalized by normalWords
	branches map[string]*schema.Schema // of unions, by their text
}

// Fill starts with known data, which may have pointers as keys: see [Processor.Convert]. Values of the formats are
// converted like answers, and wrong if they are not understood; now is the time that relative ones count from, in
// their time zone. The data given is not changed. An error means that it cannot be checked: for its size, or
// because the schema would take too long.
func (p *Processor) Fill(known value.Value, now time.Time) (*Filling, error) {
	data, rejected := p.Convert(known)
	f, err := p.start(data, now, true)
	if err != nil {
		return nil, err
	}
	for _, r := range rejected {
		f.reject(r.Pointer, r.Value, r.Reason)
	}
	return f, nil
}

// FillAsIs is [Processor.Fill] for data that is only checked: its keys are names, and
// no value is converted. A format is a hint then, as draft 7 has it, but in a schema that
// uses one as a type.
func (p *Processor) FillAsIs(data value.Value, now time.Time) (*Filling, error) {
	return p.start(data, now, false)
}

// start makes a filling from data whose keys are names.
func (p *Processor) start(data value.Value, now time.Time, convert bool) (*Filling, error) {
	f := &Filling{p: p, schema: p.schema, now: now, sources: map[string]Source{}}
	if isTooDeep(data, maxDepth) {
		return nil, wording.Errorf("nested deeper than %d", maxDepth)
	}
	if err := schema.Checkable(data); err != nil && data.Kind() != value.Object && data.Kind() != value.List {
		return nil, err
	}
	f.data = deepCopy(data)
	if convert {
		f.data = p.convertFormats(f.data, nil, now)
	}
	if p.hasOwnTypes || p.hasFormats && convert {
		var err error
		if f.schema, err = p.strictSchema(); err != nil {
			return nil, err
		}
	}
	f.faults = f.findFaults(f.data)
	if why := uncheckedReason(f.faults); why != nil {
		return nil, why
	}
	return f, nil
}

// maxDepth bounds the nesting of data, so that a value around it can still be nested.
const maxDepth = 900

func isTooDeep(v value.Value, left int) bool {
	below := func(v value.Value) bool { return isTooDeep(v, left-1) }
	if left < 0 || slices.ContainsFunc(v.List(), below) {
		return true
	}
	for _, member := range v.Map().All() {
		if below(member) {
			return true
		}
	}
	return false
}

// uncheckedReason returns why a value could not be checked; nil if it was.
func uncheckedReason(faults []schema.Fault) error {
	for _, f := range faults {
		if f.Keyword == "" {
			return f.Problem
		}
	}
	return nil
}

// From sets the sources of the data, as [Filling.Sources] of an earlier filling returned them.
func (f *Filling) From(sources *value.Map) {
	for pointer, source := range sources.All() {
		name, _ := source.Str()
		if _, there := f.data.At(pointer); there && name != "" {
			f.sources[pointer] = Source(name)
		}
	}
}

// Clone returns a filling of the same data, which goes its own way from here.
func (f *Filling) Clone() *Filling {
	c := *f
	c.data, c.faults, c.rejected = deepCopy(f.data), slices.Clone(f.faults), slices.Clone(f.rejected)
	c.sources, c.heard, c.branches = maps.Clone(f.sources), maps.Clone(f.heard), maps.Clone(f.branches)
	return &c
}

// Data returns the data so far.
func (f *Filling) Data() value.Value { return deepCopy(f.data) }

// Remaining returns the flat schema of the values that are still missing or wrong.
func (f *Filling) Remaining() value.Value { return f.p.flatSchema(f.faults) }

// TakesObjects reports whether the schema allows objects, like the processor's method.
func (f *Filling) TakesObjects() bool { return f.p.TakesObjects() }

// Done reports whether nothing remains.
func (f *Filling) Done() bool { return len(f.faults) == 0 }

// Rejected returns the values that were not taken, in order.
func (f *Filling) Rejected() []Rejection { return f.rejected }

// Sources returns the sources of the values: a source holds for its pointer and everything below without a source
// of its own.
func (f *Filling) Sources() *value.Map {
	m, above := value.NewMap(0), map[string]bool{}
	for pointer := range f.sources {
		addAncestors(above, pointer)
	}
	if f.data.Kind() == value.Object {
		above[""] = true
	}
	f.collectSources(f.data, "", Known, above, m)
	return m
}

// collectSources enters the sources at and below a place; above are the places that have
// some below.
func (f *Filling) collectSources(v value.Value, pointer string, inherited Source, above map[string]bool, m *value.Map) {
	if own, ok := f.sources[pointer]; ok {
		inherited = own
	}
	if !above[pointer] {
		m.Set(pointer, value.OfString(string(inherited)))
		return
	}
	for i, item := range v.List() {
		f.collectSources(item, pointer+"/"+strconv.Itoa(i), inherited, above, m)
	}
	for name, member := range v.Map().All() {
		f.collectSources(member, pointer+"/"+value.Escape(name), inherited, above, m)
	}
}

// addAncestors enters the places above a pointer.
func addAncestors(above map[string]bool, pointer string) {
	for i := strings.LastIndexByte(pointer, '/'); i >= 0; i = strings.LastIndexByte(pointer[:i], '/') {
		above[pointer[:i]] = true
	}
}

func (f *Filling) reject(pointer string, v value.Value, reason string) {
	r := Rejection{value.Truncate(pointer, maxRecorded), recordedValue(v), reason}
	same := func(other Rejection) bool {
		return other.Pointer == r.Pointer && other.Reason == r.Reason && value.Equal(other.Value, r.Value)
	}
	if len(f.rejected) < maxRejections && !slices.ContainsFunc(f.rejected, same) {
		f.rejected = append(f.rejected, r)
	}
}

// Bounds on the record of one filling's rejections: how many, and how many characters of each.
const (
	maxRejections = 200
	maxRecorded   = 200
)

// recordedValue returns a value as a rejection records it: the beginning of its JSON as text if it is long, or
// cannot be checked by any schema.
func recordedValue(v value.Value) value.Value {
	text := v.JSON()
	short := value.Truncate(text, maxRecorded)
	if short != text || schema.Checkable(v) != nil {
		return value.OfString(short)
	}
	return v
}

// maxOptional bounds how many optional places are described.
const maxOptional = 50

// Optional returns the flat schema of the values that the data neither has nor needs: like Remaining, without
// required. It is an empty object if there are none.
func (f *Filling) Optional() value.Value {
	taken := map[string]bool{}
	for _, fault := range f.faults {
		taken[placeOfFault(fault)] = true
	}
	var absent []schema.Fault
	var walk func(v value.Value, pointer string)
	walk = func(v value.Value, pointer string) {
		isTaken := taken[pointer] && pointer != ""
		if v.Kind() != value.Object || isTaken || strings.Count(pointer, "/") > maxTokens {
			return
		}
		for _, sub := range f.p.schema.Describe(pointer).All {
			properties, _ := sub.Get("properties")
			for name, property := range properties.Map().All() {
				at := pointer + "/" + value.Escape(name)
				if _, has := v.Get(name); has || taken[at] || len(absent) == maxOptional {
					continue
				}
				taken[at] = true
				absent = append(absent, schema.Fault{Problem: schema.Problem{Pointer: at}, Schema: property})
			}
		}
		for name, member := range v.Map().All() {
			walk(member, pointer+"/"+value.Escape(name))
		}
	}
	walk(f.data, "")
	flat := f.p.flatSchema(absent)
	flat.Map().Delete("required")
	return flat
}

// sourceOf returns the source that holds for a place.
func (f *Filling) sourceOf(pointer string) Source {
	for {
		if source, ok := f.sources[pointer]; ok {
			return source
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return Known
		}
		pointer = pointer[:i]
	}
}
