package value_test

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

func TestDecodeText(t *testing.T) {
	const save = " (save it as UTF-8)"
	for name, test := range map[string]struct{ data, text, err string }{
		"empty":            {data: "", text: ""},
		"UTF-8":            {data: "a\n你好", text: "a\n你好"},
		"mark":             {data: "\ufeffhello", text: "hello"},
		"mark inside":      {data: "a\ufeffb", text: "a\ufeffb"},
		"a zero in it":     {data: "a\x00bc", text: "a\x00bc"},
		"GBK":              {data: "\xc4\xe3\xba\xc3", err: "1:1: the text is not UTF-8 here; it looks like GBK" + save},
		"GBK below":        {data: "q,want\n\xbd\xf1\xcc\xec\xcc\xec\xc6\xf8\xba\xdc\xba\xc3,\xce\xd2\xc3\xc7", err: "2:1: the text is not UTF-8 here; it looks like GBK" + save},
		"Big5":             {data: "\xa4\xb5\xa4\xd1\xa4\xd1\xae\xf0\xab\xdc\xa6n\xa1A\xa7\xda", err: "1:1: the text is not UTF-8 here; it looks like Big5" + save},
		"Shift_JIS":        {data: "\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd\x90\xa2\x8aE", err: "1:1: the text is not UTF-8 here; it looks like Shift_JIS" + save},
		"EUC-KR":           {data: "\xbe\xc8\xb3\xe7\xc7\xcf\xbc\xbc\xbf\xe4 \xbc\xbc\xb0\xe8 \xb0\xa1", err: "1:1: the text is not UTF-8 here; it looks like EUC-KR" + save},
		"Latin-1":          {data: "ein caf\xe9", err: "1:8: the text is not UTF-8 here; it looks like Windows-1252" + save},
		"Latin-1 inside":   {data: "ein M\xe4dchen f\xfcr alle", err: "1:6: the text is not UTF-8 here; it looks like Windows-1252" + save},
		"after characters": {data: "你好\xff", err: "1:3: the text is not UTF-8 here" + save},
		"UTF-16 LE":        {data: "\xff\xfeq\x00,\x00", err: "1:1: the text is not UTF-8 here; it looks like UTF-16" + save},
		"UTF-16 BE":        {data: "\xfe\xff\x00q\x00,", err: "1:1: the text is not UTF-8 here; it looks like UTF-16" + save},
		"UTF-16, no mark":  {data: "q\x00=\x00", err: "1:1: the text is not UTF-8 here; it looks like UTF-16" + save},
		"a picture":        {data: "\x89PNG\r\n\x1a\n\x00\x00\x00\r", err: "1:1: the text is not UTF-8 here" + save},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := value.DecodeText([]byte(test.data))
			message := ""
			if err != nil {
				message = err.Error()
			}
			if got != test.text || message != test.err {
				t.Errorf("got %q, %q", got, message)
			}
		})
	}
}
