package terminal

import (
	"fmt"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Language is the language in which the program speaks to the person at a terminal: that of
// the settings or of LANG.
type Language string

// Say returns a message of the program.
func (l Language) Say(format string, args ...any) string {
	return wording.Say(format, args...).In(string(l))
}

// sayOf returns the message of an error.
func (l Language) sayOf(err error) string { return wording.OfError(err).In(string(l)) }

// Count returns a number with its noun, which is singular for one.
func (l Language) Count(n int, noun string) string {
	unit, known := chineseUnits[noun]
	if !known || !wording.IsChinese(string(l)) {
		return Count(n, noun)
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// chineseUnits are the nouns of [Language.Count] with their measure words.
var chineseUnits = map[string]string{
	"character": "个字符", "item": "项", "message": "条消息", "run": "个运行", "snapshot": "个快照", "token": "个 token", "warning": "条警告",
}
