package macro

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// aliases are macros that print a variable.
var aliases = map[string]string{
	"input":              "user_input_text",
	"lastmessage":        "chat_last_message",
	"lastusermessage":    "chat_last_user_message",
	"lastcharmessage":    "chat_last_assistant_message",
	"messagecount":       "chat_message_count",
	"usermessagecount":   "chat_user_message_count",
	"conversationlength": "chat_conversation_length",
	"user":               "user_name",
	"char":               "character_name",
	"description":        "character_description",
	"personality":        "character_personality",
	"scenario":           "scenario_description",
	"persona":            "persona_description",
}

// builtins are the macros by their lower-case names, but for aliases, comments
// and time_utc.
var builtins = map[string]func(r *run, c *call, param string) string{
	"python":       (*run).python,
	"keywords":     (*run).keywords,
	"importance":   (*run).importance,
	"setvar":       (*run).setvar,
	"setglobalvar": (*run).setvar,
	"getvar":       (*run).getvar,
	"getglobalvar": (*run).getvar,
	"addvar":       (*run).addvar,
	"addglobalvar": (*run).addvar,
	"incvar":       func(r *run, _ *call, param string) string { return r.increase(param, 1) },
	"incglobalvar": func(r *run, _ *call, param string) string { return r.increase(param, 1) },
	"decvar":       func(r *run, _ *call, param string) string { return r.increase(param, -1) },
	"decglobalvar": func(r *run, _ *call, param string) string { return r.increase(param, -1) },
	"newline":      func(*run, *call, string) string { return "\n" },
	"noop":         comment,
	"trim":         comment,
	"timediff":     comment, // presets name it, and it has never given anything
	"enable":       func(*run, *call, string) string { return "True" },
	"random":       (*run).choice,
	"pick":         (*run).choice,
	"roll":         func(r *run, _ *call, param string) string { return strconv.Itoa(r.roll(param)) },
	"add":          arithmetic(func(a, b float64) float64 { return a + b }),
	"sub":          arithmetic(func(a, b float64) float64 { return a - b }),
	"mul":          arithmetic(func(a, b float64) float64 { return a * b }),
	"max":          arithmetic(func(a, b float64) float64 { return max(a, b) }),
	"min":          arithmetic(func(a, b float64) float64 { return min(a, b) }),
	"div": arithmetic(func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}),
	"upper":          func(_ *run, _ *call, param string) string { return strings.ToUpper(param) },
	"lower":          func(_ *run, _ *call, param string) string { return strings.ToLower(param) },
	"reverse":        func(_ *run, _ *call, param string) string { return reverse(param) },
	"length":         func(_ *run, _ *call, param string) string { return strconv.Itoa(utf8.RuneCountInString(param)) },
	"time":           func(r *run, _ *call, _ string) string { return r.Now.Format("15:04:05") },
	"isotime":        func(r *run, _ *call, _ string) string { return r.Now.Format("15:04:05") },
	"date":           func(r *run, _ *call, _ string) string { return r.Now.Format("2006-01-02") },
	"isodate":        func(r *run, _ *call, _ string) string { return r.Now.Format("2006-01-02") },
	"weekday":        func(r *run, _ *call, _ string) string { return weekday(r.Now) },
	"datetimeformat": (*run).datetimeformat,
}

// builtin finds a macro by its lower-case name; nil where there is none.
func builtin(name string) func(*run, *call, string) string {
	if f := builtins[name]; f != nil {
		return f
	}
	if variable := aliases[name]; variable != "" {
		return func(r *run, _ *call, _ string) string { return r.get(variable) }
	}
	if zone, ok := strings.CutPrefix(name, "time_utc"); ok {
		return func(r *run, _ *call, _ string) string { return r.timeUTC(zone) }
	}
	return nil
}

// names lists the macros, for messages.
var names = sync.OnceValue(func() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(builtins)), maps.Keys(aliases))
	slices.Sort(all)
	return all
})

// comment is nothing.
func comment(*run, *call, string) string { return "" }

func (r *run) python(c *call, _ string) string { return r.exec(c.program) }

// params splits at :: where there is one, else at commas.
func params(param string) []string {
	if strings.TrimSpace(param) == "" {
		return nil
	}
	separator := ","
	if rest := strings.TrimPrefix(param, ":"); strings.Contains(rest, "::") {
		param, separator = rest, "::"
	}
	parts := strings.Split(param, separator)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// assignment splits name::value or name:value; the double colon wins.
func assignment(param string) (name, val string) {
	param = strings.TrimPrefix(param, ":")
	name, val, ok := strings.Cut(param, "::")
	if !ok {
		name, val, _ = strings.Cut(param, ":")
	}
	return strings.TrimSpace(name), strings.TrimSpace(val)
}

func (r *run) setvar(_ *call, param string) string {
	name, val := assignment(param)
	r.set(name, value.OfString(val))
	return ""
}

func (r *run) getvar(_ *call, param string) string {
	return r.get(strings.TrimSpace(strings.TrimLeft(param, ":")))
}

func (r *run) addvar(_ *call, param string) string {
	parts := params(param)
	switch len(parts) {
	case 0:
		r.fail("addvar wants name::value")
		return ""
	case 1:
		parts = append(parts, "0")
	}
	r.add(parts[0], value.OfString(parts[1]))
	return ""
}

// add adds numbers, and joins everything else.
func (r *run) add(name string, by value.Value) {
	old := r.lookup(name)
	a, aok := toFloat(old)
	b, bok := toFloat(by)
	if aok && bok {
		r.set(name, value.OfString(floatText(a+b)))
		return
	}
	joined := text(old) + text(by)
	if r.size += len(joined); r.size > maxOutput {
		r.fail("the variable %q grows beyond %d bytes", clip(name), maxOutput)
		return
	}
	r.set(name, value.OfString(joined))
}

// increase counts from 0 where there is no number yet.
func (r *run) increase(param string, by float64) string {
	name := strings.TrimSpace(strings.TrimLeft(param, ":"))
	old, _ := toFloat(r.lookup(name))
	r.set(name, value.OfString(floatText(old+by)))
	return ""
}

func (r *run) choice(_ *call, param string) string {
	parts := params(param)
	if len(parts) == 0 {
		return ""
	}
	return parts[r.Rand.IntN(len(parts))]
}

// roll throws NdM: 1 to 50 dice with 2 to 1000 sides. What is no dice is 1.
func (r *run) roll(dice string) int {
	count, sides, ok := strings.Cut(strings.ToLower(strings.TrimSpace(dice)), "d")
	if count = strings.TrimSpace(count); count == "" {
		count = "1"
	}
	n, err := strconv.Atoi(count)
	m, errM := strconv.Atoi(strings.TrimSpace(sides))
	if !ok || err != nil || errM != nil {
		return 1
	}
	n, m = min(max(n, 1), 50), min(max(m, 2), 1000)
	sum := 0
	for range n {
		sum += 1 + r.Rand.IntN(m)
	}
	return sum
}

// arithmetic works on the first two parameters; what is no number is 0.
func arithmetic(f func(a, b float64) float64) func(*run, *call, string) string {
	return func(_ *run, _ *call, param string) string {
		var operands [2]float64
		for i, p := range params(param) {
			if i < len(operands) {
				operands[i], _ = parseFloat(p)
			}
		}
		return floatText(f(operands[0], operands[1]))
	}
}

func reverse(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}
