package keyword

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"! must stand before a keyword, not inside it (put a keyword that contains ! in quotes)": "! 必须写在关键词之前，不能写在中间（含有 ! 的关键词请加引号）",
	"%s has no words; it is taken to match every text":                                       "%s 中没有词，视为匹配所有文本",
	"a closing parenthesis is missing":                                                       "缺少右括号",
	"a comma without a word beside it is ignored":                                            "旁边没有词的逗号会被忽略",
	"a keyword is missing at the end":                                                        "末尾缺少关键词",
	"a keyword is missing before %q (put a keyword that contains %q in quotes)":              "%q 之前缺少关键词（含有 %q 的关键词请加引号）",
	"a quotation mark is not closed":                                                         "引号没有闭合",
	"exclude has no words; nothing is excluded":                                              "exclude 中没有词；不排除任何内容",
	"the keywords take %d bytes, more than %d":                                               "关键词有 %d 字节，超过 %d",
	"the parentheses are nested deeper than %d":                                              "括号嵌套超过 %d 层",
	"unexpected %q after a quoted keyword":                                                   "带引号的关键词之后不应有 %q",
	"unexpected mode %q (use include or exclude)":                                            "模式 %q 有误（请用 include 或 exclude）",
	"unknown mode %q of keywords; the whole is taken as an expression":                       "未知的关键词模式 %q；整体按表达式处理",
})
