package value

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%q is not a JSON number":                              "%q 不是 JSON 数字",
	"a %s cannot be read from JSON":                        "%s 不能从 JSON 读取",
	"a %s cannot be written as JSON":                       "%s 不能写成 JSON",
	"decoding into a %T: want a pointer":                   "解码到 %T：应为指针",
	"duplicate key %q":                                     "键 %q 重复",
	"invalid duration %q (it must not be negative)":        "时长 %q 无效（不能为负）",
	"invalid duration %q (use 30s or 5m)":                  "时长 %q 无效（写法如 30s 或 5m）",
	"more than one JSON value":                             "不止一个 JSON 值",
	"the JSON text ends too early":                         "JSON 文本提前结束",
	"the control character %q in a string must be escaped": "字符串中的控制字符 %q 必须转义",
	"the escape %.6s is half of a character (write the two escapes of the pair, or the character itself)": "转义 %.6s 只是半个字符（请写出成对的两个转义，或直接写该字符）",
	"the text is not UTF-8 here": "此处的文本不是 UTF-8",
	"save it as UTF-8":           "请以 UTF-8 保存",
	"%s (%s)":                    "%s（%s）",
	"the text is not UTF-8 here; it looks like %s": "此处的文本不是 UTF-8，像是 %s",
	"the escape %.6q does not exist":               "没有转义 %.6q",
	"the keys of a %s are not strings":             "%s 的键不是字符串",
	"the number %.40s is out of range":             "数字 %.40s 超出范围",
	"want %d items, got %d":                        "应为 %d 项，实为 %d 项",
	" (%s)":                                        "（%s）",
	"want %s, got %s":                              "应为%s，实为%s",
	"want %s, found %q":                            "应为%s，实为 %q",
	"a JSON value":                                 "一个 JSON 值",
	"a comma or the end of the array":              "逗号或数组的结尾",
	"a comma or the end of the object":             "逗号或对象的结尾",
	"a key in double quotes":                       "双引号括起的键",
	"a colon after the key":                        "键之后的冒号",
	"a digit":                                      "数字",
	"want %s, got %.40s":                           "应为 %s，实为 %.40s",
})
