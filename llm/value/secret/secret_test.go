package secret_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

func TestMaskText(t *testing.T) {
	const pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n"
	secrets := secret.SetOf(`p&s w/1"ö`, "hunter2", "hunter22", "pin", " ", pem)
	forms := secrets.Forms()
	for text, want := range map[string]string{
		`it is p&s w/1"ö!`:              "it is ***!",
		`{"a":"p&s w/1\"ö"}`:            `{"a":"***"}`,
		"?q=p%26s+w%2F1%22%C3%B6":       "?q=***",
		"?q=p%26s%20w/1%22%C3%B6":       "?q=***",
		"/p&s%20w%2F1%22%C3%B6/":        "/***/",
		"<b>p&amp;s w/1&#34;ö</b>":      "<b>***</b>",
		"aHVudGVyMg==":                  "***",
		"basic aHVudGVyMg":              "basic ***",
		"68756e74657232":                "***",
		"68756E74657232":                "***",
		"HUNTER2 and 2retnuh":           "*** and ***",
		"hunter22":                      "***",
		"a pin, PIN and 70696e":         "a ***, PIN and ***",
		"  MIIEvQIBADANBgkqhkiG9w0":     "  ***",
		"-----BEGIN KEY----- is no end": "*** is no end",
		"nothing of it":                 "nothing of it",
	} {
		if got := secrets.MaskText(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for i := 1; i < len(forms); i++ {
		if len(forms[i]) > len(forms[i-1]) {
			t.Fatalf("%q comes after %q", forms[i], forms[i-1])
		}
	}
	if text := strings.Join(forms, "\n"); strings.Contains(text, "\n \n") {
		t.Error("white space is a secret")
	}
}

// TestSet: a set masks its secrets, marks them in values that come back, and adds them to the outer set.
func TestSet(t *testing.T) {
	process := secret.NewSet(nil)
	s := secret.NewSet(process)
	if v := value.OfString("hunter2"); !s.IsEmpty() || s.MaskValue(v).JSON() != v.JSON() {
		t.Error("an empty set masks something")
	}
	s.Add("hunter2")
	s.AddDerived("abc", "4711", "   ", "hunt")
	for text, want := range map[string]string{
		`{"a": "a hunter2", "hunter2": 1}`:      `{"a":"a ***","***":1}`,
		`[4711, 4712, 47.11, 14711, "x4711"]`:   `["***",4712,47.11,14711,"x***"]`,
		`["abc", "HUNTER2", true, null, "hun"]`: `["abc","***",true,null,"hun"]`,
	} {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.MaskValue(v).JSON(); got != want {
			t.Errorf("%s is masked as %s, want %s", text, got, want)
		}
		if marked := s.Mark(v); !marked.HasSecret() || marked.JSON() != v.JSON() {
			t.Errorf("%s is marked as %s", text, marked)
		}
	}
	if s.Mark(value.OfString("nothing")).HasSecret() {
		t.Error("a text without a secret is marked")
	}
	if got := process.MaskText("hunter2 4711"); got != "*** ***" {
		t.Errorf("the outer set masks %q", got)
	}
	overlapping := s.Mark(value.OfString("hunter2retnuh 4711"))
	if got, _ := overlapping.Masked("*").Str(); got != "* *" {
		t.Errorf("secrets that overlap: %q", got)
	}
	for i := range 300 {
		s.AddDerived(fmt.Sprintf("derived %d", i))
	}
	if n := len(s.Forms()); n > 4000 || !s.Has("derived 299") || !s.Has("hunter2") {
		t.Errorf("%d forms", n)
	}
}

// A text that is a form of a secret, such as its capitals, may itself be written in a URL, in
// JSON or in HTML.
func TestFormsOfDerived(t *testing.T) {
	s := secret.NewSet(nil)
	const given = `p&s w/"1`
	s.Add(given)
	for _, derived := range []string{`P&S W/"1`, `1"/w s&p`} {
		s.AddDerived(derived)
		for _, form := range secret.Forms(derived) {
			if got := s.MaskText("<" + form + ">"); got != "<***>" {
				t.Errorf("%q is masked as %q", form, got)
			}
		}
	}
	n := len(s.Forms())
	s.AddDerived(`P&S W/"1`)
	if len(s.Forms()) != n {
		t.Error("the forms of a text are added twice")
	}
}

// The stretches are the parts that a mask replaces.
func TestMaskedRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching(`[ab<]{1,7}`)
		s := secret.NewSet(nil)
		for range rapid.IntRange(0, 3).Draw(t, "secrets") {
			s.Add(letters.Draw(t, "secret"))
		}
		text := rapid.StringMatching(`[ab<é]{0,20}`).Draw(t, "text")
		v := value.OfString(text)
		if rapid.Bool().Draw(t, "marked") && text != "" {
			v = value.OfSecret(v, value.ByteRange{Start: 0, End: 1})
		}
		var shown strings.Builder
		end := 0
		for _, r := range s.MaskedRanges(v) {
			shown.WriteString(text[end:r.Start] + secret.Mask)
			end = r.End
		}
		shown.WriteString(text[end:])
		if want, _ := s.MaskValue(v).Masked(secret.Mask).Str(); shown.String() != want && !s.IsEmpty() {
			t.Fatalf("%q: got %q, want %q", text, shown.String(), want)
		}
	})
}
