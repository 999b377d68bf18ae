package builtin

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/input"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// Variable is a built-in variable: vars.<name> in a template, a variable segment
// in an input template.
type Variable struct {
	Name    string
	Summary calls.Text

	value func(plugins.State) any
}

// The variables that are utterances of the dialogue.
const (
	lastUserMessage      = "last_user_message"
	lastAssistantMessage = "last_assistant_message"
)

// Variables returns the built-in variables. All times are those of the run's clock.
func Variables() []Variable {
	return []Variable{
		{"current_time", calls.Text{En: "The time of day, 15:04.", Zh: "当前时间，如 15:04。"}, clockVariable("15:04")},
		{"current_date", calls.Text{En: "The date, 2006-01-02.", Zh: "当前日期，如 2006-01-02。"}, clockVariable(time.DateOnly)},
		{"current_datetime", calls.Text{En: "Date and time, 2006-01-02 15:04:05.", Zh: "当前日期和时间，如 2006-01-02 15:04:05。"}, clockVariable(time.DateTime)},
		{"weekday", calls.Text{En: "The day of the week in the flow's language.", Zh: "星期几，用流程的语言。"}, weekdayVariable},
		{"timestamp", calls.Text{En: "The time as Unix seconds.", Zh: "当前时间的 Unix 秒数。"}, func(s plugins.State) any { return s.Now.Unix() }},
		{"timezone", calls.Text{En: "The time zone of the clock as +08:00.", Zh: "时钟的时区，如 +08:00。"}, clockVariable("-07:00")},
		{"user", calls.Text{En: "The user of the flow's memory scope.", Zh: "流程记忆范围中的用户。"}, func(s plugins.State) any { return s.User }},
		{"session", calls.Text{En: "The session of the flow's memory scope.", Zh: "流程记忆范围中的会话。"}, func(s plugins.State) any { return s.Session }},
		{"language", calls.Text{En: "The flow's language.", Zh: "流程的语言。"}, func(s plugins.State) any { return s.Language }},
		{"turn_count", calls.Text{En: "How many utterances the dialogue has before this one.", Zh: "此前对话中的发言条数。"}, func(s plugins.State) any { return len(s.History) }},
		{lastUserMessage, calls.Text{En: "What the user said before; empty at first.", Zh: "用户上一次说的话；首轮为空。"}, lastMessageVariable("user")},
		{lastAssistantMessage, calls.Text{En: "What the assistant said last; empty at first.", Zh: "助手上一次说的话；首轮为空。"}, lastMessageVariable("assistant")},
	}
}

func clockVariable(layout string) func(plugins.State) any {
	return func(s plugins.State) any { return s.Now.Format(layout) }
}

func weekdayVariable(s plugins.State) any {
	if isChinese(s.Language) {
		return "星期" + [...]string{"日", "一", "二", "三", "四", "五", "六"}[s.Now.Weekday()]
	}
	return s.Now.Weekday().String()
}

func isChinese(language string) bool { return len(language) >= 2 && language[:2] == "zh" }

func lastMessageVariable(role string) func(plugins.State) any {
	return func(s plugins.State) any {
		i, ok := lastTurn(s.History, role)
		if !ok {
			return ""
		}
		return s.History[i].Content
	}
}

// lastTurn returns the index of the last utterance of a role.
func lastTurn(history []plugins.Turn, role string) (i int, ok bool) {
	for i, turn := range slices.Backward(history) {
		if turn.Role == role {
			return i, true
		}
	}
	return 0, false
}

var _ input.TurnResolver = (*resolver)(nil)

// TurnOf returns the index of the utterance that a variable is.
func (*resolver) TurnOf(history []plugins.Turn, name string) (i int, ok bool) {
	role := map[string]string{lastUserMessage: "user", lastAssistantMessage: "assistant"}[name]
	if role == "" {
		return 0, false
	}
	return lastTurn(history, role)
}

// resolver returns all built-in variables, so that they are asked for in one batch.
type resolver struct {
	values map[string]func(plugins.State) any
}

func newResolver() *resolver {
	r := &resolver{map[string]func(plugins.State) any{}}
	for _, v := range Variables() {
		r.values[v.Name] = v.value
	}
	return r
}

// Resolve returns the values of names.
func (r *resolver) Resolve(ctx context.Context, state plugins.State, names []string) (map[string]json.RawMessage, error) {
	return plugins.ResolverFunc(func(_ context.Context, state plugins.State, name string) (any, error) {
		value, ok := r.values[name]
		if !ok {
			return nil, wording.Errorf("there is no variable %q", name)
		}
		return value(state), nil
	}).Resolve(ctx, state, names)
}
