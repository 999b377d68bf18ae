package eval

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// hideSecrets returns the error that an evaluation would have without its secrets, because a message may show a
// value computed from one. again evaluates in another scope; if that fails differently, the message is withheld.
func (m *evaluator) hideSecrets(err error, again func(Scope) error) error {
	e, ok := err.(*fault.Error) //nolint:errorlint // the package's own
	if !ok || e.Err != nil {
		return err
	}
	if e.Class == fault.Limit || e.Msg == secretKey { // they reveal nothing
		return err
	}
	used := m.Trace && slices.ContainsFunc(m.slots, func(s slot) bool { return s.seen && s.v.V.HasSecret() })
	if !used {
		return err
	}
	masked, ok := again(maskedScope{m.Scope}).(*fault.Error) //nolint:errorlint // the package's own
	if ok && masked.Class == e.Class && masked.Offset == e.Offset {
		return masked
	}
	hidden := *e
	hidden.Name, hidden.Hint = "", "look at what it makes of the secret"
	fault.SetMessage(&hidden, "it fails, and how is not told: the message may show a secret")
	return &hidden
}

// markRanges returns v with the ranges secret; without ranges it returns v.
func markRanges(v value.Value, ranges []value.ByteRange) value.Value {
	if len(ranges) == 0 {
		return v
	}
	return value.OfSecret(v, ranges...)
}

// exportMarked is ExportValue for a traced evaluation: it marks the parts that come from secrets.
func (m *evaluator) exportMarked(v pyvalue.Val) (value.Value, error) {
	out, err := m.ExportValue(v)
	if err != nil || !holdsSecrets(m.Scope) {
		return out, err
	}
	return markSecrets(v, out)
}

// markSecrets returns out, as which v left the template, with all in it secret that comes
// from a secret.
func markSecrets(v pyvalue.Val, out value.Value) (value.Value, error) {
	isShared := v.Py() == nil && v.Origin().IsReference()
	if isShared && out.Kind() >= value.List {
		return out, nil // the scope's own
	}
	switch out.Kind() {
	case value.String:
		text, _ := out.Str()
		return markRanges(out, trace.SecretRanges(trace.PartsOf(v.Origin(), len(text)))), nil
	case value.Int, value.Float:
		if v.Origin().IsSecret() {
			return value.OfSecret(out), nil
		}
	case value.List:
		return markList(v, out)
	case value.Object:
		return markDict(v, out)
	}
	return out, nil
}

func markList(v pyvalue.Val, out value.Value) (value.Value, error) {
	known := pyvalue.ListElements(v)
	items := make([]value.Value, len(out.List()))
	for i, x := range out.List() {
		item := pyvalue.Val{V: x}.WithOrigin(v.Origin())
		if i < known.Len() {
			item = known.At(i)
		}
		var err error
		items[i], err = markSecrets(item, x)
		if err != nil {
			return value.Value{}, err
		}
	}
	return value.OfList(items...), nil
}

const secretKey = "a secret cannot be the key of a dict that leaves the template: keys are not masked"

func markDict(v pyvalue.Val, out value.Value) (value.Value, error) {
	members := value.NewMap(out.Map().Len())
	for i := range out.Map().Len() {
		name, x := out.Map().Entry(i)
		member := pyvalue.Val{V: x}.WithOrigin(v.Origin())
		if v.IsDict() {
			var key pyvalue.Val
			key, member = pyvalue.DictAt(v, i)
			if _, ok := v.Py().(*pyvalue.PyDict); ok && key.Origin().IsSecret() {
				return value.Value{}, fault.Errorf(fault.Security, secretKey)
			}
		}
		marked, err := markSecrets(member, x)
		if err != nil {
			return value.Value{}, err
		}
		members.Set(name, marked)
	}
	return value.OfMap(members), nil
}
