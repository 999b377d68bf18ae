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
		"half of a GBK":     {data: "a\n\xc4\xe3\xba", charset: "gbk", err: "2:2: the bytes here are no text in gbk"},
		"half of UTF-16":    {data: "\xff\xfea\x00b", err: "1:2: the bytes here are no text in utf-16"},
		"half of a pair":    {data: "\x3d\xd8a\x00", charset: "utf-16le", err: "1:1: the bytes here are no text in utf-16le"},
		"no Shift JIS":      {data: "\x83", charset: "shift_jis", err: "1:1: the bytes here are no text in shift_jis"},
		"ASCII":             {data: "cafe", charset: "US-ASCII", want: "cafe"},
		"more than ASCII":   {data: "a\ncaf\xc3\xa9", charset: "us-ascii", err: "2:4: the bytes here are no text in us-ascii"},
		"no ASCII at all":   {data: "\xe9", charset: "ascii", err: "1:1: the bytes here are no text in ascii"},
		"marked, no ASCII":  {data: "\xff\xfea\x00", charset: "us-ascii", want: "a"},
		"marked, no UTF-8":  {data: "\ufeffcaf\xe9", want: "caf\xe9"}, // for the caller to find
		"a mark of doubt":   {data: "a\ufffd", want: "a\ufffd"},
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
