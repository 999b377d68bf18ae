package prompt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]struct{ errs, refs []string }{
		"{{ a }} {{ b.c }}": {nil, []string{"a", "b"}},
		"{{ a | nosuch }} {{ b }} {{ ) }} {{ c is nosuch }}": {[]string{"1:8", "1:29", "1:42"}, []string{"b"}},
		"{{ a ! b }}{{ c }}": {[]string{"1:6"}, []string{"c"}},
		"{% if a %}{% nosuch %}{{ b | nosuch }}{% endif %}": {[]string{"1:14", "1:30"}, []string{"a"}},
		"{% for %}{{ x }}{% raw %}{{ ) }}{% endraw %}":      {[]string{"1:8"}, nil},
		"{% if a %}{{ ) }}":    {[]string{"1:14", "1:1"}, []string{"a"}},
		"{{ a | nosuch }}{# b": {[]string{"1:8", "1:17"}, nil},
		"{{ ) }} {{ a":         {[]string{"1:4", "1:11"}, nil},
	} {
		refs, errs := Check(Source{Text: text})
		var places, names []string
		for _, e := range errs {
			places = append(places, fmt.Sprintf("%d:%d", e.Line, e.Col))
		}
		for _, r := range refs {
			names = append(names, r.Path[0])
		}
		_, err := Parse(Source{Text: text})
		if (err == nil) != (errs == nil) {
			t.Errorf("%s: Parse says %v, Check %v", text, err, errs)
		}
		if diff := cmp.Diff(want.errs, places); diff != "" {
			t.Errorf("%s: %v %s", text, errs, diff)
		}
		if diff := cmp.Diff(want.refs, names); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestMissingEnd(t *testing.T) {
	for _, text := range []string{"{{ d.parts", "{{ d.parts }", "{{ d.parts and more!", "{{ d.parts ! {{ b }}", "{{ 'a' ) x"} {
		_, err := Parse(Source{Text: text})
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Msg, "}} is missing") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
