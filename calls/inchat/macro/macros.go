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
	"python":       (*run).expandPython,
	"keywords":     (*run).expandKeywords,
	"importance":   (*run).expandImportance,
	"setvar":       (*run).setvar,
	"setglobalvar": (*run).setvar,
	"getvar":       (*run).getvar,
	"getglobalvar": (*run).getvar,
	"addvar":       (*run).addvar,
	"addglobalvar": (*run).addvar,
	"incvar":       func(r *run, _ *call, param string) string { return r.incrementVar(param, 1) },
	"incglobalvar": func(r *run, _ *call, param string) string { return r.incrementVar(param, 1) },
	"decvar":       func(r *run, _ *call, param string) string { return r.incrementVar(param, -1) },
	"decglobalvar": func(r *run, _ *call, param string) string { return r.incrementVar(param, -1) },
	"newline":      func(*run, *call, string) string { return "\n" },
	"noop":         expandNothing,
	"trim":         expandNothing,
	"timediff":     expandNothing, // presets name it, and it has never given anything
	"enable":       func(*run, *call, string) string { return "True" },
	"random":       (*run).pickOne,
	"pick":         (*run).pickOne,
	"roll":         func(r *run, _ *call, param string) string { return strconv.Itoa(r.rollDice(param)) },
	"add":          arithmeticMacro(func(a, b float64) float64 { return a + b }),
	"sub":          arithmeticMacro(func(a, b float64) float64 { return a - b }),
	"mul":          arithmeticMacro(func(a, b float64) float64 { return a * b }),
	"max":          arithmeticMacro(func(a, b float64) float64 { return max(a, b) }),
	"min":          arithmeticMacro(func(a, b float64) float64 { return min(a, b) }),
	"div": arithmeticMacro(func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}),
	"upper":          func(_ *run, _ *call, param string) string { return strings.ToUpper(param) },
	"lower":          func(_ *run, _ *call, param string) string { return strings.ToLower(param) },
	"reverse":        func(_ *run, _ *call, param string) string { return reverseRunes(param) },
	"length":         func(_ *run, _ *call, param string) string { return strconv.Itoa(utf8.RuneCountInString(param)) },
	"time":           func(r *run, _ *call, _ string) string { return r.Now.Format("15:04:05") },
	"isotime":        func(r *run, _ *call, _ string) string { return r.Now.Format("15:04:05") },
	"date":           func(r *run, _ *call, _ string) string { return r.Now.Format("2006-01-02") },
	"isodate":        func(r *run, _ *call, _ string) string { return r.Now.Format("2006-01-02") },
	"weekday":        func(r *run, _ *call, _ string) string { return chineseWeekday(r.Now) },
	"datetimeformat": (*run).datetimeformat,
}

// findBuiltin finds a macro by its lower-case name; nil where there is none.
func findBuiltin(name string) func(*run, *call, string) string {
	if f := builtins[name]; f != nil {
		return f
	}
	if variable := aliases[name]; variable != "" {
		return func(r *run, _ *call, _ string) string { return r.getText(variable) }
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

// expandNothing is nothing.
func expandNothing(*run, *call, string) string { return "" }

func (r *run) expandPython(c *call, _ string) string { return r.execProgram(c.program) }

// splitParams splits at :: where there is one, else at commas.
func splitParams(param string) []string {
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

// splitAssignment splits name::value or name:value; the double colon wins.
func splitAssignment(param string) (name, val string) {
	param = strings.TrimPrefix(param, ":")
	name, val, ok := strings.Cut(param, "::")
	if !ok {
		name, val, _ = strings.Cut(param, ":")
	}
	return strings.TrimSpace(name), strings.TrimSpace(val)
}

func (r *run) setvar(_ *call, param string) string {
	name, val := splitAssignment(param)
	r.setVar(name, value.OfString(val))
	return ""
}

func (r *run) getvar(_ *call, param string) string {
	return r.getText(strings.TrimSpace(strings.TrimLeft(param, ":")))
}

func (r *run) addvar(_ *call, param string) string {
	parts := splitParams(param)
	switch len(parts) {
	case 0:
		r.addError("addvar wants name::value")
		return ""
	case 1:
		parts = append(parts, "0")
	}
	r.addToVar(parts[0], value.OfString(parts[1]))
	return ""
}

// addToVar adds numbers, and joins everything else.
func (r *run) addToVar(name string, by value.Value) {
	old := r.lookupVar(name)
	a, aok := toFloat(old)
	b, bok := toFloat(by)
	if aok && bok {
		r.setVar(name, value.OfString(floatText(a+b)))
		return
	}
	joined := varText(old) + varText(by)
	r.size += len(joined)
	if r.size > maxOutput {
		r.addError("the variable %q grows beyond %d bytes", value.Truncate(name, 60), maxOutput)
		return
	}
	r.setVar(name, value.OfString(joined))
}

// incrementVar counts from 0 where there is no number yet.
func (r *run) incrementVar(param string, by float64) string {
	name := strings.TrimSpace(strings.TrimLeft(param, ":"))
	old, _ := toFloat(r.lookupVar(name))
	r.setVar(name, value.OfString(floatText(old+by)))
	return ""
}

func (r *run) pickOne(_ *call, param string) string {
	parts := splitParams(param)
	if len(parts) == 0 {
		return ""
	}
	return parts[r.Rand.IntN(len(parts))]
}

// rollDice throws NdM: 1 to 50 dice with 2 to 1000 sides. Other text is 1.
func (r *run) rollDice(dice string) int {
	count, sides, ok := strings.Cut(strings.ToLower(strings.TrimSpace(dice)), "d")
	count = strings.TrimSpace(count)
	if count == "" {
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

// arithmeticMacro works on the first two parameters; other text than a number is 0.
func arithmeticMacro(f func(a, b float64) float64) func(*run, *call, string) string {
	return func(_ *run, _ *call, param string) string {
		var operands [2]float64
		for i, p := range splitParams(param) {
			if i < len(operands) {
				operands[i], _ = parseFloat(p)
			}
		}
		return floatText(f(operands[0], operands[1]))
	}
}

func reverseRunes(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}
