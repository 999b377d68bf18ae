package processor

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Rejection is a piece of an answer that was not taken.
type Rejection struct {
	Pointer string      `json:"pointer" doc:"Where it was meant to go, a JSON pointer."`
	Value   value.Value `json:"value" doc:"What was answered."`
	Reason  string      `json:"reason" doc:"Why it was not taken."`
}

// Convert makes nested data from an answer whose keys may be JSON pointers: a key that begins with / is set at
// that place, in order, any other is a member. For example, {"/a/b": 1, "c": 2} becomes {"a": {"b": 1}, "c": 2}.
// In arrays an index replaces, the next index or - appends. Missing containers are made as the schema has them.
// Values that cannot be set are in the rejections. An answer that is not an object is returned as it is.
func (p *Processor) Convert(answer value.Value) (value.Value, []Rejection) {
	if answer.Kind() != value.Object {
		return answer, nil
	}
	data := value.OfMap(nil)
	var rejected []Rejection
	for key, member := range answer.Map().All() {
		tokens, err := p.parseKey(key)
		switch {
		case err != nil:
		case len(tokens) > 0:
			data, err = p.setAt(data, nil, tokens, deepCopy(member), nil)
		case member.Kind() == value.Object:
			for name, inner := range member.Map().All() {
				data.Map().Set(name, deepCopy(inner))
			}
		case answer.Map().Len() == 1:
			return deepCopy(member), nil
		default:
			err = wording.Errorf("the whole value is not an object, but there are members beside it")
		}
		if err != nil {
			rejected = append(rejected, Rejection{key, member, p.explain(err)})
		}
	}
	return data, rejected
}

// ConvertPointers converts an answer like [Processor.Convert], with the pointer into the answer in place of every
// value that has no members.
func (p *Processor) ConvertPointers(answer value.Value) value.Value {
	data, _ := p.Convert(pointersIn(answer, ""))
	return data
}

// pointersIn returns the value with pointers in place of the values that have no members.
func pointersIn(v value.Value, pointer string) value.Value {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = pointersIn(item, pointer+"/"+strconv.Itoa(i))
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(key, pointersIn(member, pointer+"/"+value.Escape(key)))
		}
		return value.OfMap(m)
	}
	return value.OfString(pointer)
}

// parseKey reads a key of an answer. A key that does not begin with / names a member of the root; so does one that
// the schema has a property for. / is the root, as many write it, unless there is a property without a name.
func (p *Processor) parseKey(key string) ([]string, error) {
	if !strings.HasPrefix(key, "/") {
		if key == "" && !p.declaresAtRoot("") {
			return nil, nil
		}
		return []string{key}, nil
	}
	if key == "/" && !p.declaresAtRoot("") {
		return nil, nil
	}
	if p.declaresAtRoot(key) {
		return []string{key}, nil
	}
	return parsePointer(key)
}
