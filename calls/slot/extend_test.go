package slot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

// plates is a format of car plates: capitals, one space.
func plates() processor.Format {
	read := func(v value.Value) string { text, _ := v.Str(); return text }
	return processor.Format{
		Name: "plate",
		Type: value.OfMap(value.Pairs("type", "string", "pattern", "^[A-Z]+ [0-9]+$")),
		Check: func(v value.Value) bool {
			return strings.Count(read(v), " ") == 1 && strings.ToUpper(read(v)) == read(v)
		},
		Convert: func(v value.Value, _ []string, _ time.Time) (value.Value, bool) {
			letters, digits, ok := strings.Cut(strings.ToUpper(read(v)), "-")
			return value.OfString(letters + " " + digits), ok
		},
	}
}

// register fills in the owner from the plate, like a register of cars.
func register(_ context.Context, w *slot.Work) error {
	if plate, ok := w.Filling.Data().Get("plate"); ok {
		w.Filling.Take(value.OfMap(value.Pairs("/owner", "the owner of "+plate.JSON())), "register")
		return nil
	}
	w.Warn("register: the plate is not known")
	return nil
}

func extended() calls.Definition {
	return slot.Extended(slot.Kit{
		Strategies: map[string]slot.Strategy{"register": register},
		Formats:    []processor.Format{plates()},
	})
}

func TestExtendedConformance(t *testing.T) { callstest.Run(t, extended()) }

func TestExtended(t *testing.T) {
	const car = `{"type":"object","required":["plate","owner"],"properties":{"plate":{"type":"plate"},"owner":{"type":"string"},"since":{"type":"date"}}}`
	out, err := execAs(t, extended(), scripted.Texts(`{"/plate":"hz-12345","/since":"昨天"}`), &calls.Vars{},
		parse(t, `{"stages":["register","llm","register"],"current_schema":`+car+`}`).Map())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"slot_data":{"plate":"HZ 12345","since":"2026-03-04","owner":"the owner of \"HZ 12345\""},"remaining_schema":{},` +
		`"sources":{"/plate":"model","/since":"model","/owner":"register"},"warnings":["register: the plate is not known"]}`
	if got := out.JSON(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The built-in call knows neither.
	for _, params := range []string{`{"stages":["register"]}`, `{"current_schema":` + car + `}`} {
		if _, err := exec(t, nil, &calls.Vars{}, parse(t, params).Map()); calls.KindOf(err) != calls.Invalid {
			t.Errorf("%s: %v", params, err)
		}
	}
}

func ExampleExtended() {
	// A way of filling that asks no model: everything is in stock.
	stock := func(_ context.Context, w *slot.Work) error {
		w.Filling.Take(value.OfMap(value.Pairs("/stock", true)), "stock")
		return nil
	}
	registry, err := calls.NewRegistry(slot.Extended(slot.Kit{Strategies: map[string]slot.Strategy{"stock": stock}}))
	if err != nil {
		fmt.Println(err)
		return
	}
	def, _ := registry.Call("slot")
	_, err = def.New(value.OfMap(value.Pairs("stages", []string{"stock", "llm"})))
	fmt.Println(err)
	_, err = def.New(value.OfMap(value.Pairs("stages", []string{"stok"})))
	fmt.Println(err, calls.HintOf(err))
	// Output:
	// <nil>
	// stages/0: unknown stage "stok" did you mean "stock"?
}
