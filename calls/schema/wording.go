package schema

import (
	"github.com/callnode/scheduler/llm/value/wording"
)

// wordingf formats a message in both languages.
func wordingf(format string, args ...any) wording.Text { return wording.Say(format, args...) }

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"the required property %q is missing":         "缺少必填属性 %q",
	"use %s":                                      "请用 %s",
	"unknown property %q":                         "未知属性 %q",
	"and %d more":                                 "另有 %d 个",
	"the property name %q: %s":                    "属性名 %q：%s",
	"no value is allowed here":                    "这里不允许有任何值",
	"no value is allowed here: the enum is empty": "这里不允许有任何值：enum 为空",
	"want %s, got %s":                             "应为%s，实为%s",
	"%s is not one of %s":                         "%s 不是以下之一：%s",
	"%s is not %s":                                "%s 不是 %s",
	"%s is what the schema excludes (not)":        "%s 被 schema 排除（not）",
	"no item is what the schema wants one to be (contains)": "没有一项符合 schema 的要求（contains）",
	"%s does not match the pattern %s":                      "%s 不符合模式 %s",
	"%s is less than the minimum %s":                        "%s 小于最小值 %s",
	"%s is more than the maximum %s":                        "%s 大于最大值 %s",
	"%s is not more than %s":                                "%s 不大于 %s",
	"%s is not less than %s":                                "%s 不小于 %s",
	"%s is not a multiple of %s":                            "%s 不是 %s 的倍数",
	"want at least %s, got %d":                              "至少应有 %s，实有 %d",
	"want at most %s, got %d":                               "最多应有 %s，实有 %d",
	"%s fits more than one branch of %s":                    "%s 符合 %s 的多个分支",
	"%s fits no branch of %s: %s":                           "%s 不符合 %s 的任何分支：%s",
	"branch %d: %s":                                         "分支 %d：%s",
	"nested deeper than %d":                                 "嵌套超过 %d 层",
	"the number %s is out of range":                         "数字 %s 超出范围",
	"the value cannot be checked: %v":                       "无法检查这个值：%v",
	"the value takes too long to check: the schema's unions multiply, or its regular expressions are too costly": "检查这个值耗时过长：schema 的联合类型相乘，或正则表达式过于复杂",
	"%s contains itself":                                                    "%s 包含自身",
	"%s: a schema loads nothing from outside":                               "%s：schema 不会从外部加载任何内容",
	"JSON Schema has no keyword %q, it has no effect":                       "JSON Schema 没有关键字 %q，它不起作用",
	"a schema with $dynamicRef or $recursiveRef is not supported; use $ref": "不支持含 $dynamicRef 或 $recursiveRef 的 schema；请用 $ref",
	"default %q: %w":                             "默认值 %q：%w",
	"default %q: want %s, got %s":                "默认值 %q：应为 %s，实为 %s",
	"field %s: %w":                               "字段 %s：%w",
	"not a JSON Schema: %s":                      "不是有效的 JSON Schema：%s",
	"not a JSON Schema: %v":                      "不是有效的 JSON Schema：%v",
	"not a JSON Schema: %w":                      "不是有效的 JSON Schema：%w",
	"not a JSON Schema: want an object, got %s":  "不是有效的 JSON Schema：应为对象，实为%s",
	"the keys of %s are not strings":             "%s 的键不是字符串",
	"the schema has %d bytes, more than %d":      "schema 有 %d 字节，超过 %d",
	"the schema is nested %d deep, more than %d": "schema 嵌套 %d 层，超过 %d",
	"the schema's regular expressions are too costly to match: with all that they repeat they have %d parts, more than %d":      "schema 的正则表达式匹配代价过高：展开后有 %d 部分，超过 %d",
	"the schema takes too long to compile: it has %d subschemas, and %d references to places other than definitions":            "编译这个 schema 耗时过长：它有 %d 个子 schema，%d 个引用指向 definitions 以外的位置",
	"the schema's unions multiply to more than %d checks of one value":                                                          "schema 的联合类型相乘，一个值要检查 %d 次以上",
	"%s is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)": "%s 不是此处可用的正则表达式（没有环视、没有反向引用、重复不超过 1000 次）",
	"want %s, got %q: %w": "应为%s，实为 %q：%w",
	"the JSON at %w":      "JSON 位置 %w",
	"not a JSON Schema":   "不是有效的 JSON Schema",
	"infinite loop %s":    "循环引用 %s",
	"%s is not a JSON pointer (write ~0 for ~, and ~1 for /)":               "%s 不是 JSON 指针（~ 写成 ~0，/ 写成 ~1）",
	"duplicate id %q (also at %q)":                                          "标识 %q 重复（也在 %q）",
	"duplicate anchor %q (also at %q)":                                      "锚点 %q 重复（也在 %q）",
	"the draft %q is not supported":                                         "不支持草案 %q",
	"%s not found":                                                          "没有 %s",
	"draft %s of JSON Schema has no keyword %q, it has no effect":           "JSON Schema draft %s 没有关键字 %q，它不起作用",
	"draft %s of JSON Schema ignores what is beside $ref: %q has no effect": "JSON Schema draft %s 忽略 $ref 旁边的内容：%q 不起作用",
	"$schema has no effect here: the schema is of draft %s":                 "$schema 在这里不起作用：这个 schema 是 draft %s",
	"write $schema: %s at the top of the schema":                            "请在 schema 顶层写 $schema: %s",
	"change $schema to %s":                                                  "请把 $schema 改为 %s",
	"%q has no effect where items is not a list":                            "items 不是列表时 %q 不起作用",
	"%q has no effect without %q":                                           "没有 %[2]q 时 %[1]q 不起作用",
	"write %s beside it, or leave it out":                                   "请在旁边写 %s，或去掉它",
	"write it at the top of the schema":                                     "请写在 schema 顶层",
	"write allOf: [{$ref: ...}] in place of $ref":                           "请把 $ref 写成 allOf: [{$ref: ...}]",
	"leave it out":                                   "请去掉它",
	"expected %s, but got %s":                        "应为%s，实为%s",
	"value must be one of %s":                        "值必须是 %s 之一",
	"must be %s but found %s":                        "必须 %s，实为 %s",
	"items at index %d and %d are equal":             "第 %d 项和第 %d 项相同",
	"property %s is required, if %s property exists": "有属性 %[2]s 时也须有属性 %[1]s",
	"only %d items are allowed, but found %d items":  "最多 %d 项，实有 %d 项",
	"valid must be >= %d, but got %d":                "符合要求的项至少 %d 个，实有 %d 个",
	"valid must be <= %d, but got %d":                "符合要求的项最多 %d 个，实有 %d 个",
	"minimum %d items required, but found %d items":  "至少 %d 项，实有 %d 项",
	"does not match pattern %s":                      "不符合模式 %s",
	"%s is not valid %s":                             "%s 不是有效的 %s",
	"it is not understood as %s":                     "无法理解为%s",
	"%s is not understood as %s":                     "%s 无法理解为%s",
})

// anyOfTypes names the types of a value that may have several.
func anyOfTypes(names []string) wording.Text {
	types := make([]wording.Text, len(names))
	for i, name := range names {
		types[i] = wording.TypeName(name)
	}
	return wording.Join(types, " or ", "或")
}
