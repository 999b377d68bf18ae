package schema

import (
	"github.com/callnode/scheduler/llm/value/wording"
)

// say formats a message in both languages.
func say(format string, args ...any) wording.Text { return chinese.Say(format, args...) }

// chinese are the messages by their English formats.
var chinese = wording.Catalog{
	"the required property %q is missing":                   "缺少必填属性 %q",
	"unknown property %q":                                   "未知属性 %q",
	"the property name %q: %s":                              "属性名 %q：%s",
	"no value is allowed here":                              "这里不允许有任何值",
	"no value is allowed here: the enum is empty":           "这里不允许有任何值：enum 为空",
	"want %s, got %s":                                       "应为%s，实为%s",
	"%s is not one of %s":                                   "%s 不是以下之一：%s",
	"%s is not %s":                                          "%s 不是 %s",
	"%s is what the schema excludes (not)":                  "%s 被 schema 排除（not）",
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
}

// chineseTypes are the types of JSON Schema.
var chineseTypes = map[string]string{
	"string": "字符串", "integer": "整数", "number": "数字", "boolean": "布尔值", "array": "数组", "object": "对象", "null": "空值",
}

func typeWording(name string) wording.Text {
	if zh, ok := chineseTypes[name]; ok {
		return wording.Text{En: name, Zh: zh}
	}
	return wording.Text{En: name, Zh: name}
}

// anyOfTypes names the types of a value that may have several.
func anyOfTypes(names []string) wording.Text {
	types := make([]wording.Text, len(names))
	for i, name := range names {
		types[i] = typeWording(name)
	}
	return wording.Join(types, " or ", "或")
}

func newProblem(pointer, keyword string, message wording.Text) Problem {
	return Problem{Pointer: pointer, Keyword: keyword, Message: message.En, chinese: message.Zh}
}

// In returns the message in a language: Chinese for zh and its regions, else English.
func (p Problem) In(language string) string {
	return wording.Text{En: p.Message, Zh: p.chinese}.In(language)
}
