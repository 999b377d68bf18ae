package suite

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Equal values of an axis are found however they are written.
func TestRepeatedValues(t *testing.T) {
	list, err := yaml.ParseValue([]byte(`[1, "1", 1.0, true, {a: 1}, "1", [2], {a: 1.0}, null, false, 1e0]`))
	if err != nil {
		t.Fatal(err)
	}
	repeated := repeatedValues(list.List())
	for i, want := range []bool{false, false, true, false, false, true, false, true, false, false, true} {
		if repeated[i] != want {
			t.Errorf("value %d is repeated: %v", i, repeated[i])
		}
	}
}

// Thousands of values are not each compared with all others.
func TestManyValuesOfAnAxis(t *testing.T) {
	values := make([]value.Value, 2000)
	for i := range values {
		values[i] = value.OfInt(int64(i))
		if i%2 == 1 { // to compare numbers of two kinds takes memory
			values[i] = value.OfFloat(float64(i) + 0.5)
		}
	}
	if allocations := testing.AllocsPerRun(1, func() { repeatedValues(values) }); allocations > 50_000 {
		t.Errorf("%v allocations", allocations)
	}
}
