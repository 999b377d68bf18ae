package charset

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"the text is written in the unknown charset %q": "文本使用未知的字符集 %q",
	"decoding the charset %s: %w":                   "解码字符集 %s：%w",
	"%d:%d: the bytes here are no text in %s":       "%d:%d：此处的字节不是 %s 编码的文本",
})
