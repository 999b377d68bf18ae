package processor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value/wording"
)

// reason is why a piece of an answer was not taken. It is an error in English, and
// can be said in other languages.
type reason struct {
	format string
	args   []any
}

// because makes a reason; its format is a key of [chineseReasons].
func because(format string, args ...any) error { return &reason{format, args} }

// Error returns the reason in English.
func (r *reason) Error() string { return fmt.Sprintf(r.format, r.args...) }

// in returns the reason in a language, with the reasons among its arguments.
func (r *reason) in(language string) string {
	format := r.format
	if zh, ok := chineseReasons[format]; ok && strings.HasPrefix(strings.ToLower(language), "zh") {
		format = zh
	}
	args := make([]any, len(r.args))
	for i, arg := range r.args {
		args[i] = arg
		switch arg := arg.(type) {
		case *reason:
			args[i] = arg.in(language)
		case wording.Text:
			args[i] = arg.In(language)
		}
	}
	return fmt.Sprintf(format, args...)
}

// say returns a reason in the processor's language.
func (p *Processor) say(format string, args ...any) string {
	return (&reason{format, args}).in(p.language)
}

// explain returns an error in the processor's language.
func (p *Processor) explain(err error) string {
	var why *reason
	if errors.As(err, &why) {
		return why.in(p.language)
	}
	var problem schema.Problem
	if errors.As(err, &problem) {
		return problem.In(p.language)
	}
	return err.Error()
}

// chineseReasons are the reasons by their English formats.
var chineseReasons = map[string]string{
	knownValid:                           "已有另一个有效的值",
	"the answer has too many pieces":     "回答的内容过多",
	"the schema has no such property":    "schema 中没有这个属性",
	"it is not understood as a %s":       "无法理解为%s",
	"the answer is not an object":        "回答不是对象",
	"the answer does not fit the schema": "回答不符合 schema",
	"nested deeper than %d":              "嵌套超过 %d 层",
	"the whole value is not an object, but there are members beside it": "整个值不是对象，旁边却还有成员",
	"a JSON pointer begins with /":                                      "JSON Pointer 以 / 开头",
	"the pointer has more than %d parts":                                "指针超过 %d 段",
	"in a JSON pointer ~ is written ~0, and / inside a name ~1":         "在 JSON Pointer 中，~ 写作 ~0，名称中的 / 写作 ~1",
	"%v: the array at %q has %d items":                                  "%v：%q 处的数组有 %d 项",
	"the value at %q is neither an object nor an array":                 "%q 处的值既不是对象也不是数组",
	"%q is not an index of an array":                                    "%q 不是数组的下标",
	"the index %d is past the end":                                      "下标 %d 超出末尾",
}
