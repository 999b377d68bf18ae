package macro

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/inchat/keyword"
	"github.com/callnode/scheduler/llm/prompt"
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
	"python":       func(r *run, c *call, _ string) string { return r.execProgram(c.program) },
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
	"upper":          func(_ *run, _ *call, param string) string { return prompt.Upper(param) },
	"lower":          func(_ *run, _ *call, param string) string { return prompt.Lower(param) },
	"reverse":        func(_ *run, _ *call, param string) string { return reverseRunes(param) },
	"length":         func(_ *run, _ *call, param string) string { return strconv.Itoa(utf8.RuneCountInString(param)) },
	"time":           func(r *run, _ *call, _ string) string { return r.Now.Format("15:04:05") },
	"isotime":        func(r *run, _ *call, _ string) string { return r.Now.Format("15:04:05") },
	"date":           func(r *run, _ *call, _ string) string { return r.Now.Format("2006-01-02") },
	"isodate":        func(r *run, _ *call, _ string) string { return r.Now.Format("2006-01-02") },
	"weekday":        func(r *run, _ *call, _ string) string { return chineseWeekday(r.Now) },
	"datetimeformat": (*run).datetimeformat,
}

// findBuiltin finds a macro by its lower-case name; nil if there is none.
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

// splitParams splits at :: if there is one, else at commas. For example, a::b,c has the parameters a and b,c.
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

func (r *run) pickOne(_ *call, param string) string {
	parts := splitParams(param)
	if len(parts) == 0 {
		return ""
	}
	return parts[r.Rand.IntN(len(parts))]
}

// arithmeticMacro works on the first two parameters; other text than a number is 0.
func arithmeticMacro(f func(a, b float64) float64) func(*run, *call, string) string {
	return func(_ *run, _ *call, param string) string {
		var operands [2]float64
		for i, p := range splitParams(param) {
			if i < len(operands) {
				operands[i], _ = prompt.ParseFloat(p)
			}
		}
		return floatText(f(operands[0], operands[1]))
	}
}

func (r *run) datetimeformat(_ *call, param string) string {
	format := strings.TrimSpace(param)
	if format == "" {
		format = "%Y-%m-%d %H:%M:%S"
	}
	return prompt.Strftime(r.Now, format)
}

// expandKeywords is 'true' or 'false', or nothing if the condition cannot be read.
func (r *run) expandKeywords(c *call, param string) string {
	e := c.expr
	if e == nil {
		var err error
		e, err = keyword.Parse(param)
		if err != nil {
			r.addError("keywords %q: %v", value.Truncate(param, 60), err)
			return ""
		}
	}
	if e.Eval(r.historyContains) {
		return "true"
	}
	return "false"
}

// historyContains searches the history. Its usual text has been searched before.
func (r *run) historyContains(word string) bool {
	v, _ := r.vars.Get(HistoryVar)
	history := varText(v)
	var hit bool
	if history != r.History {
		hit = strings.Contains(history, word)
	} else if known, ok := r.Found[word]; ok {
		hit = known
	} else {
		hit = strings.Contains(history, word)
		if r.Found == nil {
			r.Found = map[string]bool{}
		}
		r.Found[word] = hit
	}
	if hit && len(r.result.Hits) < 10 && !slices.Contains(r.result.Hits, word) {
		r.result.Hits = append(r.result.Hits, word)
	}
	return hit
}

// expandImportance returns the verdict of an importance function on the entry, as true
// or false.
func (r *run) expandImportance(_ *call, param string) string {
	name := functionName(param)
	if r.Judge == nil {
		r.addError("importance %q: there are no importance functions here", value.Truncate(name, 60))
		return ""
	}
	include, reason, err := r.Judge(r.ctx, name)
	if err != nil {
		r.addError("importance %q: %v", value.Truncate(name, 60), err)
		return ""
	}
	if reason != "" && len(r.result.Verdicts) < 10 {
		r.result.Verdicts = append(r.result.Verdicts, name+": "+reason)
	}
	return strconv.FormatBool(include)
}

// functionName returns the parameter of an importance macro, after one colon or two.
func functionName(param string) string { return strings.TrimSpace(strings.TrimPrefix(param, ":")) }
