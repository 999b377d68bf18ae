package prompt

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

type vector struct {
	ID, Group, Template string
	Values              *value.Map
	Out                 *string
	Error               Class
	ErrorName           string
}

func loadVectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("../../test/vectors/jinja.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		v, err := value.ParseJSON(s.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		str := func(key string) string { x, _ := v.Get(key); s, _ := x.Str(); return s }
		values, _ := v.Get("values")
		row := vector{
			ID: str("id"), Group: str("group"), Template: str("template"), Values: values.Map(),
			Error: Class(str("error")), ErrorName: str("error_name"),
		}
		if out, ok := v.Get("out"); ok {
			s, _ := out.Str()
			row.Out = &s
		}
		all = append(all, row)
	}
	return all
}

// check runs a vector; the error says how the result differs.
func (v vector) check() (*Error, error) {
	var out string
	tmpl, err := Parse(Source{Text: v.Template})
	if err == nil {
		out, err = tmpl.Render(context.Background(), Values{v.Values})
	}
	var e *Error
	if err != nil && !errors.As(err, &e) {
		return nil, fmt.Errorf("%T is not *Error: %w", err, err)
	}
	switch {
	case v.Out != nil && e != nil:
		return e, fmt.Errorf("want %q, got %s error: %w", *v.Out, e.Class, e)
	case v.Out != nil && out != *v.Out:
		return nil, fmt.Errorf("want %q, got %q", *v.Out, out)
	case v.Out != nil:
		return nil, nil
	case e == nil:
		return nil, fmt.Errorf("want a %s error, got %q", v.Error, out)
	case v.Group != "security" && e.Class != v.Error && !(v.Error == Other && e.Class == Limit):
		return e, fmt.Errorf("want a %s error, got %s: %w", v.Error, e.Class, e)
	case v.ErrorName != "" && e.Name != v.ErrorName && e.Class == Undefined:
		return e, fmt.Errorf("want the name %q, got %q: %w", v.ErrorName, e.Name, e)
	}
	return e, nil
}

func TestVectors(t *testing.T) {
	bad := map[string]int{}
	for _, v := range loadVectors(t) {
		if _, err := v.check(); err != nil {
			bad[v.Group]++
			t.Errorf("%s %s: %s\n\t%q", v.Group, v.ID, err, strings.TrimSpace(v.Template))
		}
	}
	t.Log(bad)
}
