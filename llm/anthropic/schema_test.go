package anthropic

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testdata/schemas.json has schemas as the vendor's SDK (anthropic-sdk-go 1.84.0) translates
// them, except for the last four: a reference keeps its definitions, a number all its digits,
// and a list of types is taken as it is.
func TestTranslateSchema(t *testing.T) {
	raw, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Schema, Want json.RawMessage }
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got, err := translateSchema(c.Schema)
		if err != nil {
			t.Errorf("%s: %v", c.Schema, err)
			continue
		}
		var want, have any
		if err := json.Unmarshal(c.Want, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.Schema, diff)
		}
	}
}
