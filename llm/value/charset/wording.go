package charset

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"the text is written in the unknown charset %q": "文本使用未知的字符集 %q",
	"decoding the charset %s: %w":                   "解码字符集 %s：%w",
})
