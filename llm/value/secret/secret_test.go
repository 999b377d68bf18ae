package secret_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value/secret"
)

func TestReplacer(t *testing.T) {
	const pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n"
	replacer, forms := secret.Replacer([]string{`p&s w/1"ö`, "hunter2", "hunter22", "pin", " ", pem}, "***")
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
		if got := replacer.Replace(text); got != want {
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
