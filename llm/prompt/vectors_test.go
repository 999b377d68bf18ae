package prompt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	for line := range bytes.Lines(data) {
		v, err := value.ParseJSON(line)
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
		out, err = tmpl.Render(context.Background(), Values{Map: v.Values})
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

// exceptions reads the ids of the vectors in a file that may differ, each with the reason.
func exceptions(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		id, reason, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("no reason: %s", line)
		}
		list[id] = reason
	}
	return list
}

// TestVectors compares with the output that Jinja2 printed. A vector that may differ either differs in the text of
// tojson, or is an error with a place: never another text.
func TestVectors(t *testing.T) {
	allowed := exceptions(t, "testdata/jinja-exceptions.txt")
	equal, all := map[string]int{}, map[string]int{}
	for _, v := range loadVectors(t) {
		all[v.Group]++
		e, err := v.check()
		reason, listed := allowed[v.ID]
		delete(allowed, v.ID)
		switch {
		case err == nil && listed:
			t.Errorf("%s is equal and need not be an exception", v.ID)
		case err == nil:
			equal[v.Group]++
		case !listed:
			t.Errorf("%s %s: %s\n\t%q", v.Group, v.ID, err, strings.TrimSpace(v.Template))
		case v.Group != "rare" && v.Group != "pyrepr":
			t.Errorf("%s: no exceptions in group %s", v.ID, v.Group)
		case !strings.HasPrefix(reason, "tojson") && (e == nil || e.Line < 1 || e.Col < 1):
			t.Errorf("%s: another text, or an error without a place: %s", v.ID, err)
		}
		if v.Group == "security" && v.Error == Security && (e == nil || e.Class != Security) {
			t.Errorf("%s: want a security error, got %v", v.ID, e)
		}
	}
	for id := range allowed {
		t.Errorf("%s is no vector", id)
	}
	want := map[string]int{"core": 125, "common": 214, "security": 52, "rare": 245, "pyrepr": 29}
	if diff := cmp.Diff(want, equal); diff != "" {
		t.Errorf("counts of equal vectors (-want +got):\n%s", diff)
	}
	t.Logf("equal %v of %v", equal, all)
}
