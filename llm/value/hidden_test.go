package value_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestSecrets: a secret reads like its plain value, and its printed form shows nothing of it.
func TestSecrets(t *testing.T) {
	for _, test := range []struct {
		v     value.Value
		shown string
	}{
		{value.OfSecret(value.OfString("abc")), `"***"`},
		{value.OfSecret(value.OfString("key abc!"), value.ByteRange{Start: 4, End: 7}), `"key ***!"`},
		{value.OfSecret(value.OfInt(-7)), `"***"`},
		{value.OfSecret(value.Must(json.Number("1.50"))), `"***"`},
		{value.OfSecret(value.OfFloat(2.5)), `"***"`},
		{value.OfSecret(value.OfBool(true)), `true`},
		{value.OfSecret(value.OfString("")), `""`},
	} {
		plain := parse(t, test.v.JSON())
		if got := test.v.Masked("***").JSON(); got != test.shown {
			t.Errorf("%s is shown as %s, want %s", plain, got, test.shown)
		}
		if test.v.Kind() != plain.Kind() || !value.Equal(test.v, plain) || value.Compare(test.v, plain) != 0 || test.v.JSON() != plain.JSON() {
			t.Errorf("%s reads otherwise as a secret", plain)
		}
		s1, ok1 := test.v.Str()
		s2, ok2 := plain.Str()
		f1, _ := test.v.Float()
		f2, _ := plain.Float()
		if s1 != s2 || ok1 != ok2 || f1 != f2 || !reflect.DeepEqual(test.v.Any(), plain.Any()) {
			t.Errorf("%s reads otherwise as a secret", plain)
		}
		isSecret := strings.Contains(test.shown, "***")
		around := value.OfMap(value.Pairs("list", value.OfList(value.OfInt(1), test.v)))
		if around.HasSecret() != isSecret || (test.v.SecretParts() != nil) != isSecret {
			t.Errorf("%s: HasSecret = %v", plain, around.HasSecret())
		}
	}
	var found []string
	text := value.OfSecret(value.OfString("a-b-c then d"), value.ByteRange{Start: 0, End: 1}, value.ByteRange{Start: 2, End: 3}, value.ByteRange{Start: 4, End: 5}, value.ByteRange{Start: 11, End: 12})
	value.OfList(value.OfString("x"), text, value.OfSecret(value.OfInt(42))).EachSecret(func(s string) { found = append(found, s) })
	if want := []string{"a", "b", "c", "a-b-c", "d", "42"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	found = nil
	long := value.OfSecret(value.OfString("abcd, efgh, i"), value.ByteRange{Start: 0, End: 4}, value.ByteRange{Start: 6, End: 10}, value.ByteRange{Start: 12, End: 13})
	long.EachSecret(func(s string) { found = append(found, s) })
	if want := []string{"abcd", "efgh", "i", "efgh, i"}; !slices.Equal(found, want) {
		t.Errorf("of long parts found %q, want %q", found, want)
	}
	found = nil
	spelled := value.OfSecret(value.OfString("1234 a-b"), value.ByteRange{Start: 0, End: 4}, value.ByteRange{Start: 5, End: 6}, value.ByteRange{Start: 7, End: 8})
	spelled.EachSecret(func(s string) { found = append(found, s) })
	if want := []string{"1234", "a", "b", "1234 a-b", "a-b"}; !slices.Equal(found, want) {
		t.Errorf("beside a long part found %q, want %q", found, want)
	}
}
