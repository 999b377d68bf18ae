package scheduler_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
)

// flowOf returns a flow of one step that asks for the values of a schema.
func flowOf(schema string) string {
	return "steps: [{id: want, call: slot, with: {stages: [llm], current_schema: " + schema + "}}]\n" +
		"outputs: {data: \"{{ want.slot_data }}\"}\n"
}

// TestMembersAskedByName: members that dependencies or the branches of a union require are asked for by name, known
// values are kept, and no question is asked twice for an answer that fits.
func TestMembersAskedByName(t *testing.T) {
	const contact = `{type: object, required: [name], properties: {name: {type: string}, email: {type: string}, phone: {type: string}}, oneOf: [{required: [email]}, {required: [phone]}]}`
	const bare = `{type: object, properties: {email: {type: string, format: email}, phone: {type: string}}, anyOf: [{required: [email]}, {required: [phone]}]}`
	const shape = `{type: object, required: [shape], properties: {shape: {oneOf: [
		{type: object, required: [kind, width], properties: {kind: {const: rect}, width: {type: integer}}},
		{type: object, required: [kind, radius], properties: {kind: {const: circle}, radius: {type: integer}}}]}}}`
	for _, c := range []struct {
		name, schema string
		model        []string // its answers; nil: there is no model
		// said are pairs: the places asked for, and the message.
		said [][2]string
		want string
	}{
		{
			"dependencies", `{type: object, required: [card], properties: {card: {type: string}, code: {type: integer}}, dependencies: {card: [code]}}`, nil,
			[][2]string{{"/card", "4242"}, {"/code", "soon"}, {"/code", "7"}}, `{"card":"4242","code":7}`,
		},
		{
			"one of two, read by the model", contact, []string{"{}", `{"/name": "Lin"}`, `{"/email": "me@x.org"}`},
			[][2]string{{"/name", "Lin"}, {"/email|/phone", "my mail is me@x.org"}}, `{"name":"Lin","email":"me@x.org"}`,
		},
		{
			"one of two, by its name", contact, nil,
			[][2]string{{"/name", "Lin"}, {"/email|/phone", "me@x.org"}, {"/email|/phone", "Email: me@x.org"}}, `{"name":"Lin","email":"me@x.org"}`,
		},
		{"a bare address", bare, nil, [][2]string{{"/email|/phone", "me@x.org"}}, `{"email":"me@x.org"}`},
		{"a bare number", bare, nil, [][2]string{{"/email|/phone", "+49 170 1"}}, `{"phone":"+49 170 1"}`},
		{
			"several members in a branch", `{type: object, anyOf: [{required: [street, city], properties: {street: {type: string}, city: {type: string}}}, {required: [box], properties: {box: {type: integer}}}]}`, nil,
			[][2]string{{"/street|/box", "Main St"}, {"/city|/box", "Ulm"}}, `{"street":"Main St","city":"Ulm"}`,
		},
		{
			"some members by their number", `{type: object, required: [name], properties: {name: {type: string}, contact: {type: object, minProperties: 2, properties: {email: {type: string, format: email}, phone: {type: integer}, fax: {type: integer}}}}, anyOf: [{required: [contact]}]}`, nil,
			[][2]string{{"/name", "Lin"}, {"/contact/email|/contact/phone|/contact/fax", "me@x.org"}, {"/contact/phone|/contact/fax", "fax: 12"}}, `{"name":"Lin","contact":{"email":"me@x.org","fax":12}}`,
		},
		{"a free object", `{type: object, required: [extras], properties: {extras: {type: object, minProperties: 1}}}`, nil, [][2]string{{"/extras", "none"}, {"/extras", "colour: red"}}, `{"extras":{"colour":"red"}}`},
		{"the whole of a union as JSON", shape, nil, [][2]string{{"/shape/kind", `{"kind": "rect", "width": 3}`}}, `{"shape":{"kind":"rect","width":3}}`},
		{
			"the kind of a union", shape, nil,
			[][2]string{{"/shape/kind", "square"}, {"/shape/kind", "Rect"}, {"/shape/width", "3"}}, `{"shape":{"kind":"rect","width":3}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var model llm.Provider
			if c.model != nil {
				model = scripted.Texts(c.model...)
			}
			r := newTalk(t, flowOf(c.schema), model)
			for _, said := range c.said {
				if got := r.asked(); got != said[0] {
					t.Fatalf("before %q it asks for %s, want %s", said[1], got, said[0])
				}
				r.say(said[1], 0)
				if kind := calls.KindOf(r.Err); r.Err != nil && kind != calls.Invalid && kind != calls.Internal {
					t.Fatal(r.Err)
				}
			}
			r.hasOutputs(`{"data":` + c.want + `}`)
		})
	}
}

// asked returns the pointers of the place that is asked for first.
func (r *talk) asked() string {
	waiting := r.state().Waiting
	if len(waiting) == 0 {
		return "nothing"
	}
	place := waiting[0].AskedPlace()
	if len(place.Either) == 0 {
		return place.Pointer
	}
	either := make([]string, len(place.Either))
	for i, one := range place.Either {
		either[i] = one.Pointer
	}
	return strings.Join(either, "|")
}
