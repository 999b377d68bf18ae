package charset_test

import (
	"testing"

	"github.com/callnode/scheduler/llm/value/charset"
)

func TestDecode(t *testing.T) {
	for name, test := range map[string]struct{ data, charset, want, err string }{
		"none":              {data: "café", want: "café"},
		"UTF-8":             {data: "\ufeffcafé", charset: "UTF-8", want: "café"},
		"Latin-1":           {data: "caf\xe9", charset: "iso-8859-1", want: "café"},
		"GBK":               {data: "\xc4\xe3\xba\xc3", charset: "GB2312", want: "你好"},
		"UTF-16 by mark":    {data: "\xff\xfea\x00", charset: "iso-8859-1", want: "a"},
		"unknown":           {data: "a", charset: "klingon", err: `the text is written in the unknown charset "klingon"`},
		"one for attackers": {data: "a", charset: "iso-2022-kr", err: `the text is written in the unknown charset "iso-2022-kr"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := charset.Decode([]byte(test.data), test.charset)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if string(got) != test.want || message != test.err {
				t.Errorf("got %q, %q", got, message)
			}
		})
	}
}

func TestSplitContentType(t *testing.T) {
	for header, want := range map[string][2]string{
		"":                                      {"", ""},
		"Text/Plain; charset=ISO-8859-1":        {"text/plain", "ISO-8859-1"},
		"application/json; charset='utf-8'":     {"application/json", "utf-8"},
		"application/json; charset=utf-8; =bad": {"application/json", ""},
	} {
		if media, name := charset.SplitContentType(header); media != want[0] || name != want[1] {
			t.Errorf("%q: got %q, %q", header, media, name)
		}
	}
}
