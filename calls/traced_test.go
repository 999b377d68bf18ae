package calls_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

type runes struct{}

func (runes) Count(text string) int { return len([]rune(text)) }

var _ llm.Counter = runes{}

// checkTraced fails if an origin that is a copy of source does not show the bytes that it names.
func checkTraced(t *rapid.T, what string, got calls.Traced, want string, sources map[string]string) {
	if got.Text != want {
		t.Fatalf("%s: got %q, want %q", what, got.Text, want)
	}
	end := 0
	for _, o := range got.Origins {
		if o.Start < end || o.End <= o.Start || o.End > len(got.Text) {
			t.Fatalf("%s: origin %+v of %q", what, o, got.Text)
		}
		end = o.End
		stretch := got.Text[o.Start:o.End]
		if !o.Computed && !strings.HasPrefix(sources[o.Pointer][o.From:], stretch) {
			t.Fatalf("%s: %q is not at %d of %q", what, stretch, o.From, sources[o.Pointer])
		}
	}
}

// Operations on a traced text give the same text as on a plain one, and its copies stay copies.
func TestTraced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`[ab </"\n]{0,12}`)
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		sources := map[string]string{"/a": a, "/b": b}
		both := calls.TracedParam("/a", a).Append(calls.Traced{Text: " - "}, calls.TracedParam("/b", b))
		text := a + " - " + b
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		to := rapid.IntRange(from, len(text)).Draw(t, "to")
		checkTraced(t, "Append", both, text, sources)
		checkTraced(t, "Slice", both.Slice(from, to), text[from:to], sources)
		checkTraced(t, "TrimSpace", both.TrimSpace(), strings.TrimSpace(text), sources)
		checkTraced(t, "Fields", both.Fields(), strings.Join(strings.Fields(text), " "), sources)
		checkTraced(t, "ReplaceAll", both.ReplaceAll("</", `<\/`), strings.ReplaceAll(text, "</", `<\/`), sources)
		checkTraced(t, "JoinTraced", calls.JoinTraced([]calls.Traced{both, both}, ", "), text+", "+text, sources)
		budget := rapid.IntRange(0, len(text)).Draw(t, "budget")
		short, _ := llm.TruncateTokens(text, budget, runes{})
		checkTraced(t, "Truncate", both.Truncate(budget, runes{}), short, sources)
	})
}

// The traced JSON of a value equals its JSON, and its strings have separate origins.
func TestTracedJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab"</é]{0,5}`)
		v := value.Must(map[string]any{
			text.Draw(t, "key"): []any{text.Draw(t, "x"), rapid.IntRange(-3, 3).Draw(t, "n"), nil, map[string]any{}, []any{}},
			"b":                 text.Draw(t, "y"),
		})
		got := calls.TracedJSON(v, func(pointer string) calls.Origin { return calls.Origin{Pointer: pointer} })
		if got.Text != v.JSON() {
			t.Fatalf("got %s, want %s", got.Text, v.JSON())
		}
		end := 0
		for _, o := range got.Origins {
			at, ok := v.At(o.Pointer)
			given, isText := at.Str()
			if own := got.Text[end:max(o.Start, end)]; !ok || o.Start < end || strings.Trim(own, `[]{},:"`) != "" {
				t.Fatalf("%+v of %s, after %q", o, got.Text, own)
			}
			if stretch := got.Text[o.Start:o.End]; isText && !o.Computed && !strings.HasPrefix(given[o.From:], stretch) {
				t.Fatalf("%+v of %s is %q", o, got.Text, stretch)
			}
			if isText && o.Computed && o.Size > 0 && strings.Contains(got.Text[o.Start:o.End], "a") {
				t.Fatalf("%+v of %s: a letter is computed", o, got.Text)
			}
			end = o.End
		}
		if own := got.Text[end:]; strings.Trim(own, `[]{},:"`) != "" {
			t.Fatalf("%q has no origin", own)
		}
	})
}

// The beginning of a shortened text is a copy of its source, with any replacement of the rest.
func TestShortenedJSON(t *testing.T) {
	v := value.Must(map[string]any{"a": "long" + llm.TruncationMarker})
	got := calls.TracedJSON(v, func(pointer string) calls.Origin { return calls.Origin{Pointer: pointer} })
	for _, o := range got.Origins {
		switch stretch := got.Text[o.Start:o.End]; {
		case stretch == "long" && (o.Computed || o.From != 0):
			t.Errorf("the beginning is %+v", o)
		case strings.Contains(stretch, llm.TruncationMarker) && !o.Computed:
			t.Errorf("the marker is %+v", o)
		}
	}
}

// The bytes and lines refer to the file, with any line ends.
func TestTracedFile(t *testing.T) {
	newlines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	for _, content := range []string{"", "\ufeff", "a", "a\nb\n", "\ufeffa\r\nb\r\n\r\n字c", "\r\r\na\rb\n\r", "\n\ufeff\r"} {
		got := calls.TracedFile("x.md", content)
		if want := newlines.Replace(strings.TrimPrefix(content, "\ufeff")); got.Text != want {
			t.Errorf("%q became %q, want %q", content, got.Text, want)
		}
		end := 0
		for _, o := range got.Origins {
			stretch, size := got.Text[o.Start:o.End], o.End-o.Start
			if o.Computed {
				stretch, size = "\r", o.Size
			}
			if o.Start != end || o.File != "x.md" || content[o.From:o.From+size] != stretch || o.Line != 1+strings.Count(content[:o.From], "\n") {
				t.Errorf("%q: %+v after %d", content, o, end)
			}
			end = o.End
		}
		if end != len(got.Text) {
			t.Errorf("%q: the origins end at %d of %q", content, end, got.Text)
		}
	}
}
