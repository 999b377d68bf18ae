package prompt

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// fuzzScope has a value of every kind under short names.
func fuzzScope() Values {
	return Values{Map: value.Pairs(
		"a", value.Pairs("b", "text", "c", []int{3, 1, 2}, "items", 1), "l", []string{"x", "y"}, "n", 7, "f", 2.5, "s", "Hello, World", "t", true, "z", nil)}
}

// fuzzContext bounds a run far above what any input needs: a hang fails.
func fuzzContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 20*time.Second)
}

func checkFuzzed(t *testing.T, err error, size int) {
	t.Helper()
	if size > fault.MaxBytes {
		t.Errorf("%d bytes", size)
	}
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 || e.Msg == "" {
		t.Errorf("%#v", err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("takes too long: %v", err)
	}
}

func FuzzExpr(f *testing.F) {
	for _, v := range loadVectors(f) {
		if text, _, ok := SingleExpr(v.Template); ok {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpr(Source{Text: text}, nil)
		checkFuzzed(t, err, 0)
		if err != nil {
			return
		}
		for _, r := range e.Refs() {
			if len(r.Path) == 0 || r.Offset < 0 || r.Offset >= len(text) {
				t.Errorf("%+v", r)
			}
		}
		ctx, cancel := fuzzContext()
		defer cancel()
		_, err = e.Eval(ctx, fuzzScope())
		checkFuzzed(t, err, 0)
	})
}

func FuzzTemplate(f *testing.F) {
	for _, v := range loadVectors(f) {
		f.Add(v.Template)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := Parse(Source{Text: text})
		checkFuzzed(t, err, 0)
		_, errs := Check(Source{Text: text})
		if (err == nil) != (errs == nil) {
			t.Errorf("Parse says %v, Check %v", err, errs)
		}
		for _, e := range errs {
			checkFuzzed(t, e, 0)
		}
		if err != nil {
			return
		}
		ctx, cancel := fuzzContext()
		defer cancel()
		out, err := tmpl.Render(ctx, fuzzScope())
		checkFuzzed(t, err, len(out))
		traced, pieces, traceErr := tmpl.Trace(ctx, fuzzScope())
		if (traceErr == nil) != (err == nil) || traced != out {
			t.Errorf("Render and Trace differ: %q %v, %q %v", out, err, traced, traceErr)
		}
		end := 0
		for _, p := range pieces {
			if p.Start != end || p.End <= p.Start || p.TemplateStart > p.TemplateEnd || p.TemplateEnd > len(text) {
				t.Errorf("piece %+v after %d", p, end)
			}
			end = p.End
		}
		if err == nil && end != len(out) {
			t.Errorf("the pieces end at %d of %d", end, len(out))
		}
		if !HasTags(text) && out != strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n") {
			t.Errorf("text without tags changed: %q", out)
		}
	})
}

// arithmetic draws an expression of integers and its value.
func arithmetic(t *rapid.T, depth int) (string, *big.Int) {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		i := big.NewInt(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "int"))
		if i.Sign() < 0 {
			return fmt.Sprintf("(%s)", i), i
		}
		return i.String(), i
	}
	x, a := arithmetic(t, depth-1)
	y, b := arithmetic(t, depth-1)
	op := rapid.SampledFrom([]string{"+", "-", "*", "//", "%"}).Draw(t, "op")
	out := new(big.Int)
	switch op {
	case "+":
		out.Add(a, b)
	case "-":
		out.Sub(a, b)
	case "*":
		out.Mul(a, b)
	default:
		if b.Sign() == 0 {
			return arithmetic(t, 0)
		}
		// Floored division: the remainder has the sign of the divisor.
		rest := new(big.Int).Mod(a, new(big.Int).Abs(b))
		if b.Sign() < 0 && rest.Sign() != 0 {
			rest.Add(rest, b)
		}
		if out.Set(rest); op == "//" {
			out.Div(out.Sub(a, rest), b)
		}
	}
	return fmt.Sprintf("(%s %s %s)", x, op, y), out
}

func TestArithmeticIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, want := arithmetic(t, 4)
		e, err := ParseExpr(Source{Text: text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Eval(context.Background(), Values{})
		if e := new(Error); errors.As(err, &e) && e.Class == Limit {
			return // beyond 64 bits on the way
		}
		if err != nil || v.JSON() != want.String() {
			t.Fatalf("%s: want %s, got %s, %v", text, want, v, err)
		}
	})
}

// data draws any JSON value.
func data(t *rapid.T, depth int) value.Value {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return value.Value{}
	case 1:
		return value.OfBool(rapid.Bool().Draw(t, "bool"))
	case 2:
		return value.OfInt(rapid.Int64Min(-1<<62).Draw(t, "int"))
	case 3:
		return value.OfFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, "float"))
	case 4:
		return value.OfString(rapid.String().Draw(t, "string"))
	case 5:
		var items []value.Value
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			items = append(items, data(t, depth-1))
		}
		return value.OfList(items...)
	}
	m := value.NewMap(4)
	for range rapid.IntRange(0, 4).Draw(t, "length") {
		m.Set(rapid.String().Draw(t, "key"), data(t, depth-1))
	}
	return value.OfMap(m)
}

// TestTextReadsBack: the printed form of a list is an expression for that list, and tojson gives JSON for it.
func TestTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value.OfList(data(t, 3))
		e, err := ParseExpr(Source{Text: Text(v)}, nil)
		if err != nil {
			t.Fatalf("%s: %v", Text(v), err)
		}
		back, err := e.Eval(context.Background(), Values{})
		if err != nil || !value.Equal(v, back) {
			t.Fatalf("%s is read as %s, %v", Text(v), back, err)
		}
		text, err := render(context.Background(), "{{ v | tojson(indent=1) }}", value.Pairs("v", v))
		if err != nil {
			t.Fatal(err)
		}
		back, err = value.ParseJSON([]byte(text))
		if err != nil || !value.Equal(v, back) {
			t.Fatalf("%s is read as %s, %v", text, back, err)
		}
	})
}

// TestSlicesAreTextOfLists: a slice of a string is the slice of its characters.
func TestSlicesAreTextOfLists(t *testing.T) {
	bound := rapid.SampledFrom([]string{"", "0", "1", "2", "-1", "-2", "9", "-9"})
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]string{"", ":", ":1", ":2", ":-1", ":-3"}).Draw(t, "step")
		at := "[" + bound.Draw(t, "start") + ":" + bound.Draw(t, "stop") + step + "]"
		out, err := render(context.Background(), "{{ s"+at+" == (s | list)"+at+" | join }}", value.Pairs("s", rapid.String().Draw(t, "s")))
		if err != nil || out != "True" {
			t.Fatalf("%s: %s, %v", at, out, err)
		}
	})
}
