package processor

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"it says that the value is not known": "它表示该值未知",

	"%q is not an index of an array":                                    "%q 不是数组的下标",
	"%v: the array at %q has %d items":                                  "%v：%q 处的数组有 %d 项",
	"a JSON pointer begins with /":                                      "JSON Pointer 以 / 开头",
	"another value is known and valid":                                  "已有另一个有效的值",
	"in a JSON pointer ~ is written ~0, and / inside a name ~1":         "在 JSON Pointer 中，~ 写作 ~0，名称中的 / 写作 ~1",
	"the answer does not fit the schema":                                "回答不符合 schema",
	"the answer has too many pieces":                                    "回答的内容过多",
	"the answer is not an object":                                       "回答不是对象",
	"the index %d is past the end":                                      "下标 %d 超出末尾",
	"the pointer has more than %d parts":                                "指针超过 %d 段",
	"the schema has no such property":                                   "schema 中没有这个属性",
	"the value at %q is neither an object nor an array":                 "%q 处的值既不是对象也不是数组",
	"the whole value is not an object, but there are members beside it": "整个值不是对象，旁边却还有成员",
})
