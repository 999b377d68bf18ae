package suite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// The keys of the matrix.
const (
	axisLLM     = "llm"
	axisFlow    = "flow"
	axisWith    = "with."
	axisExclude = "exclude"
)

// axis is a key of the matrix and its values.
type axis struct {
	key, pointer string
	values       []value.Value
}

// variant is one combination: a value for each axis.
type variant []variantSetting

type variantSetting struct {
	axis  *axis
	value value.Value
}

// settings returns the variant as a result has it.
func (v variant) settings() (all []result.Setting) {
	for _, s := range v {
		all = append(all, result.Setting{Key: s.axis.key, Value: s.value.PlainText()})
	}
	return all
}

func (v variant) get(key string) (value.Value, bool) {
	for _, s := range v {
		if s.axis.key == key {
			return s.value, true
		}
	}
	return value.Value{}, false
}

// without returns the variant without an axis.
func (v variant) without(key string) variant {
	return slices.DeleteFunc(slices.Clone(v), func(s variantSetting) bool { return s.axis.key == key })
}

// overrides returns the parameters with which the variant replaces parameters of steps.
func (v variant) overrides() (all []flow.Override) {
	for _, s := range v {
		if rest, ok := strings.CutPrefix(s.axis.key, axisWith); ok {
			path := strings.Split(rest, ".")
			all = append(all, flow.Override{Step: path[0], Path: path[1:], Value: s.value})
		}
	}
	return all
}

// axes lists the axes, in the order of the file; several flows are one, before the matrix.
func (r *reader) axes() (all []*axis) {
	if len(r.keys.Flows) > 0 {
		a := &axis{key: axisFlow, pointer: "/flows"}
		for _, name := range r.keys.Flows {
			a.values = append(a.values, value.OfString(name))
		}
		all = append(all, a)
	}
	for key, v := range r.keys.Matrix.All() {
		if key != axisExclude {
			all = append(all, &axis{key: key, pointer: "/matrix/" + value.Escape(key), values: v.List()})
		}
	}
	return all
}

// checkMatrix reports keys and values that no variant can have.
func (r *reader) checkMatrix() {
	for _, a := range r.axes() {
		r.checkAxis(a)
	}
	exclude, ok := r.keys.Matrix.Get(axisExclude)
	if !ok {
		return
	}
	if exclude.Kind() != value.List {
		r.report("/matrix/exclude", wording.Say("exclude is a list of combinations"), wording.Say("write exclude: [{llm: small, flow: long.yaml}]"))
		return
	}
	for i, combination := range exclude.List() {
		r.checkExclusion("/matrix/exclude/"+strconv.Itoa(i), combination)
	}
}

func (r *reader) checkAxis(a *axis) {
	step, path, isWith := "", "", false
	if rest, ok := strings.CutPrefix(a.key, axisWith); ok {
		step, path, isWith = strings.Cut(rest, ".")
	}
	isKnown := a.key == axisLLM || a.key == axisFlow || isWith && path != ""
	if !isKnown {
		r.problems = append(r.problems, flow.NewProblem(r.keyAt(a.pointer), wording.Say("unknown key %q of the matrix", a.key), wording.Say("the keys are llm, flow, with.STEP.PARAMETER and exclude")))
		return
	}
	if len(a.values) == 0 {
		r.report(a.pointer, wording.Say("the matrix needs a list of values for %s", a.key), wording.Say("write %s: [A, B]", a.key))
		return
	}
	if isWith {
		r.checkStep(r.keyAt(a.pointer), step)
	}
	repeated := repeatedValues(a.values)
	for i, v := range a.values {
		pointer := a.pointer + "/" + strconv.Itoa(i)
		text, isText := v.Str()
		if !isWith && !isText {
			r.report(pointer, wording.Say("%s wants a name", a.key), wording.Text{})
			continue
		}
		if a.key == axisLLM {
			r.checkProviders(pointer, text)
		}
		if repeated[i] {
			r.reportOnce(r.at(pointer), wording.Say("%s is given twice", v.PlainText()), wording.Text{})
		}
	}
}

// repeatedValues returns the indexes of values that are equal to one before, or that results name alike, for example 1 and "1". A matrix
// may have thousands: texts and numbers are only compared with the same ones, the others, such as lists, with all of their kind.
func repeatedValues(values []value.Value) map[int]bool {
	repeated, alike, names := map[int]bool{}, map[any][]value.Value{}, map[string]bool{}
	for i, v := range values {
		var group any = v.Kind()
		if text, isText := v.Str(); isText {
			group = text
		} else if number, isNumber := v.Float(); isNumber {
			group = number
		}
		isEqual := slices.ContainsFunc(alike[group], func(other value.Value) bool { return value.Equal(other, v) })
		name := v.PlainText()
		repeated[i] = isEqual || names[name]
		alike[group], names[name] = append(alike[group], v), true
	}
	return repeated
}

func (r *reader) checkExclusion(pointer string, combination value.Value) {
	if combination.Kind() != value.Object || combination.Map().Len() == 0 {
		r.report(pointer, wording.Say("exclude is a list of combinations"), wording.Say("write exclude: [{llm: small, flow: long.yaml}]"))
		return
	}
	axes := r.axes()
	var keys []string
	for _, a := range axes {
		keys = append(keys, a.key)
	}
	for key, v := range combination.Map().All() {
		i := slices.Index(keys, key)
		at := pointer + "/" + value.Escape(key)
		if i < 0 {
			r.report(at, wording.Say("the matrix has no %q", key), wording.Of(value.DidYouMeanOrList(key, keys)))
		} else if !slices.ContainsFunc(axes[i].values, func(other value.Value) bool { return value.Equal(other, v) }) {
			r.report(at, wording.Say("the matrix has no %s with the value %s", key, v.PlainText()), wording.Text{})
		}
	}
}

// allVariants returns the combinations of the axes, the last one changing fastest; one empty one without a matrix.
func (r *reader) allVariants() []variant {
	all := []variant{nil}
	for _, a := range r.axes() {
		var next []variant
		for _, v := range all {
			for _, one := range a.values {
				next = append(next, append(slices.Clone(v), variantSetting{a, one}))
			}
		}
		if len(next) > maxCases {
			r.reportOnce(r.at("/matrix"), wording.Say("the matrix has more than %d combinations", maxCases), wording.Text{})
			return nil
		}
		all = next
	}
	exclude, _ := r.keys.Matrix.Get(axisExclude)
	return slices.DeleteFunc(all, func(v variant) bool {
		return slices.ContainsFunc(exclude.List(), v.has)
	})
}

// has reports whether the variant has all settings of a combination.
func (v variant) has(combination value.Value) bool {
	for key, want := range combination.Map().All() {
		if got, ok := v.get(key); !ok || !value.Equal(got, want) {
			return false
		}
	}
	return combination.Map().Len() > 0
}

// flowOf returns the flow of a variant, read with its parameters; nil if it has problems, which are reported.
func (r *reader) flowOf(v variant) *loadedFlow {
	base := r.flows[0]
	if name, ok := v.get(axisFlow); ok {
		text, _ := name.Str()
		i := slices.IndexFunc(r.flows, func(f *loadedFlow) bool { return f.name == text })
		if i < 0 {
			return nil // it could not be loaded, which is reported
		}
		base = r.flows[i]
	}
	overrides := v.overrides()
	if len(overrides) == 0 {
		return base
	}
	key := base.name
	for _, s := range v {
		if strings.HasPrefix(s.axis.key, axisWith) {
			key += "\x00" + s.axis.key + "\x00" + s.value.JSON()
		}
	}
	if known, ok := r.variants[key]; ok {
		return known
	}
	loader := *r.loader.Flows
	loader.Overrides = overrides
	f, problems := loader.Load(base.path)
	var made *loadedFlow
	if f != nil {
		made = &loadedFlow{name: base.name, path: base.path, flow: f, loader: &loader}
	}
	if problems.HasErrors() {
		r.reportVariant(v, problems.Errors())
	}
	if r.variants == nil {
		r.variants = map[string]*loadedFlow{}
	}
	r.variants[key] = made
	return made
}

// reportVariant reports the problems that the parameters of a variant cause in a flow: at a parameter that is
// wrong by itself, or else at the first.
func (r *reader) reportVariant(v variant, problems flow.Problems) {
	var given []variantSetting
	for _, s := range v {
		if strings.HasPrefix(s.axis.key, axisWith) {
			given = append(given, s)
		}
	}
	isFound := false
	for _, s := range given {
		alone := slices.DeleteFunc(slices.Clone(v), func(other variantSetting) bool {
			return strings.HasPrefix(other.axis.key, axisWith) && other.axis != s.axis
		})
		if len(given) > 1 && r.flowOf(alone) == nil {
			isFound = true
		}
	}
	if isFound {
		return
	}
	for _, p := range problems {
		p.Pos = r.keyAt(given[0].axis.pointer)
		if !r.seen[p.Pos] {
			r.seen[p.Pos] = true
			r.problems = append(r.problems, p)
		}
	}
}

// maxCases bounds how many cases the rows and variants of a file may come to.
const maxCases = 100_000
