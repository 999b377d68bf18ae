package yaml

import (
	"cmp"

	"github.com/callnode/scheduler/llm/value/wording"
)

// wordingf formats a message in the built-in languages.
func wordingf(format string, args ...any) wording.Text { return wording.Say(format, args...) }

// Text returns what is wrong, and what to do, in the built-in languages, without the place.
func (e *Error) Text() (message, hint wording.Text) {
	message, hint = wording.Of(e.Msg), wording.Of(e.Hint)
	message.Zh, hint.Zh = cmp.Or(e.chinese, message.Zh), cmp.Or(e.chineseHint, hint.Zh)
	return message, hint
}

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"the control character %U":                                                                   "控制字符 %U",
	`take it out, or write it in double quotes as \u%04X`:                                        `请删去，或在双引号中写成 \u%04X`,
	"%s names no anchor that stands before it":                                                   "%s 没有指向此前的锚点",
	"put a text that begins with * in quotes, or define it with &%s":                             "以 * 开头的文本请加引号，或用 &%s 定义锚点",
	"a space is missing after the dash":                                                          "短横线后缺少空格",
	"write - %s:":                                                                                "请写成 - %s:",
	"a space is missing after the colon":                                                         "冒号后缺少空格",
	"write %s and a space, then the value":                                                       "请写 %s，加一个空格，再写值",
	"%s is not an escape that YAML knows":                                                        "%s 不是 YAML 的转义序列",
	`write \%s, or put the text in single quotes`:                                                `请写成 \%s，或改用单引号`,
	"the quote that opens here is not closed":                                                    "此处的引号没有闭合",
	"close it at the end of the text":                                                            "请在文本末尾闭合引号",
	"the text in quotes ends here, and more follows":                                             "引号中的文本到此结束，但后面还有内容",
	"a text in quotes ends before this, and more follows":                                        "引号中的文本已在此前结束，但后面还有内容",
	"write '' for a ' inside, or put the whole text in double quotes":                            "文本中的 ' 请写成 ''，或改用双引号",
	`write \" for a " inside, or put the whole text in single quotes`:                            `文本中的 " 请写成 \"，或改用单引号`,
	"a text that begins with %s must be quoted":                                                  "以 %s 开头的文本必须加引号",
	"put it in quotes":                                                                           "请加引号",
	"the text after %s begins on the next line":                                                  "%s 之后的文本从下一行开始",
	"put the text in quotes, or on lines of its own that are indented deeper":                    "请给文本加引号，或另起一行并缩进",
	`a text with ": " in it must be quoted`:                                                      `含有 ": " 的文本必须加引号`,
	"put the whole value in quotes":                                                              "请给整个值加引号",
	"a colon is missing after the key":                                                           "键后缺少冒号",
	"write %s: and the value":                                                                    "请写成 %s: 再写值",
	"a line of a block of text is indented less than its first line":                             "文本块中有一行的缩进少于第一行",
	"indent all its lines by %d spaces at least":                                                 "各行至少缩进 %d 个空格",
	"this line is indented deeper than the one above, which has a value already":                 "此行的缩进比上一行深，而上一行已经有值",
	"indent it by %d spaces, like the line above":                                                "请缩进 %d 个空格，与上一行一致",
	"the indentation of %d fits none of the lines above":                                         "%d 个空格的缩进与上面任何一行都不对应",
	"indent it by %d spaces":                                                                     "请缩进 %d 个空格",
	"the %s that opens here is not closed":                                                       "此处的 %s 没有闭合",
	"close it with %s":                                                                           "请用 %s 闭合",
	"a comma is missing before this":                                                             "此处之前缺少逗号",
	`inside { } and [ ] a comma separates the entries, and a value with ": " in it needs quotes`: `{ } 和 [ ] 中各项以逗号分隔，含有 ": " 的值要加引号`,
	"this %s closes a %s":                                                                        "此处的 %s 与 %s 不配对",
	"the %s at line %d, column %d is closed with %s":                                             "第 %[2]d 行第 %[3]d 列的 %[1]s 要用 %[4]s 闭合",
	"a space is missing before the comment":                                                      "注释前缺少空格",
	"write a space before #":                                                                     "请在 # 前加空格",
	"the value ends before this, and more follows":                                               "值已在此前结束，但后面还有内容",
	"take it out, or put the whole value in quotes":                                              "请删去，或给整个值加引号",
	"%q cannot be written as JSON (%s)":                                                          "%q 不能写成 JSON（%s）",
	"a key must be plain text":                                                                   "键必须是纯文本",
	"a second YAML document starts here; only one is read":                                       "此处开始第二个 YAML 文档；只读取一个",
	"duplicate key %q (first at %d:%d)":                                                          "键 %q 重复（首次出现在 %d:%d）",
	"not JSON: %s":                                                                               "不是 JSON：%s",
	"not YAML: %s":                                                                               "不是 YAML：%s",
	"the text has %d bytes, more than %d":                                                        "文本有 %d 字节，超过 %d",
	"unknown tag %s":                                                                             "未知的标签 %s",
	"more than %d nodes, those that aliases unfold to counted":                                   "超过 %d 个节点（含别名展开的节点）",
})
