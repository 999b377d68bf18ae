package constancy_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/prompt/internal/constancy"
	"github.com/callnode/scheduler/llm/prompt/internal/syntax"
	"github.com/callnode/scheduler/llm/value"
)

// describe knows that x and alias are one, that n counts, and that state is one of two texts.
func describe(path []string) constancy.Known {
	switch name := strings.Join(path, "."); name {
	case "alias", "x":
		return constancy.Known{Name: "x", IsDefined: true}
	case "n":
		return constancy.Known{IsCount: true, IsDefined: true}
	case "state":
		return constancy.Known{Values: []value.Value{value.OfString("on"), value.OfString("off")}, IsDefined: true}
	default:
		return constancy.Known{}
	}
}

func TestIsAlways(t *testing.T) {
	for _, c := range []struct {
		expr string
		want string // always, never, or "" for neither
	}{
		{"x == x", "always"},
		{"x == alias", "always"},
		{"x != x", "never"},
		{"x == y", ""},
		{"x.a == alias.a", ""}, // only the paths that describe knows are one
		{"y.a == y.a", "always"},
		{"y[0] == y[1]", ""},
		{"y[1:] == y[1:]", "always"},
		{"y[1:] == y[:1]", ""},
		{"(y | upper) == (y | upper)", "always"},
		{"(y | upper) == (y | lower)", ""},
		{"(y | random) == (y | random)", ""},
		{"y.get('a') == y.get('a')", "always"},
		{"y.get('a') == y.get('b')", ""},
		{"n >= 0", "always"},
		{"n > -1", "always"},
		{"n < 0", "never"},
		{"n > 0", ""},
		{"y >= 0", ""},
		{"y | length >= 0", "always"},
		{"y | length > 0", ""},
		{"y | length < 100000", ""},
		{"state in ['on', 'off']", "always"},
		{"state == 'on'", ""},
		{"state == '开'", "never"},
		{"'' in y", "always"},
		{"'' not in y", "never"},
		{"'a' in y", ""},
		{"y[:2] in y", "always"},
		{"y[:2] in x", ""},
		{"y.startswith('')", "always"},
		{"y.startswith('营')", ""},
		{"y.count('a') >= 0", "always"},
		{"y.count('a') > 0", ""},
		{"'a' not in y", ""},
		{"'a' in y or 'a' not in y", "always"},
		{"'a' not in y or 'b' not in y", ""},
		{"x is defined", "always"},
		{"y is defined", ""},
		{"y.a is undefined", ""},
		{"x is string or x is not string", "always"},
		{"x is string", ""},
		{"y > 3 or y <= 3", "always"},
		{"y > 3 or y <= 2", ""},
		{"y > 3 and y < 2", "never"},
		{"y or true", "always"},
		{"y and false", "never"},
		{"not (y and not y)", "always"},
		{"true if y else true", "always"},
		{"true if y else false", ""},
		{"y != 'deny'", ""},
		{"y is not divisibleby 7", ""},
		{"(y | fromjson).price != 3", ""},
		{"1 + y == y", ""},
		{"a != 1 or b != 2 or c != 3 or d != 4 or e != 5", ""},
	} {
		made, err := syntax.CompileExpr(c.expr, nil)
		if err != nil {
			t.Fatal(c.expr, err)
		}
		got := ""
		if constancy.IsAlways(made.Root, nil, true, describe) {
			got = "always"
		}
		if constancy.IsAlways(made.Root, nil, false, describe) {
			got += "never"
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.expr, got, c.want)
		}
	}
}

func TestIsAlwaysUnderACondition(t *testing.T) {
	for _, c := range []struct {
		given, expr string
		want        bool
	}{
		{"x == 'a'", "x == 'a'", true},
		{"x == 'a'", "alias != 'b'", true},
		{"x == 'a'", "x != 'a'", false},
		{"y > 3", "y >= 3", true},
		{"y > 3", "y > 4", false},
		{"x == 'a'", "y == 'a'", false},
		{"x != x", "y == 'a'", false}, // it is never evaluated, which is reported elsewhere
	} {
		given, err := syntax.CompileExpr(c.given, nil)
		if err != nil {
			t.Fatal(err)
		}
		made, err := syntax.CompileExpr(c.expr, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := constancy.IsAlways(made.Root, given.Root, true, describe); got != c.want {
			t.Errorf("%s if %s: %v", c.expr, c.given, got)
		}
	}
}
