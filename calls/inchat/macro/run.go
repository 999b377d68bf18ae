package macro

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// HistoryVar is the variable in which keywords are searched.
const HistoryVar = "chat_history_text"

// maxOutput bounds the bytes that a text may expand to.
const maxOutput = 1 << 20

// Machine expands texts: a caller fills one in for a step and uses it for all texts of the step. It is not safe
// for concurrent use.
type Machine struct {
	// Now is the time, in the zone that is to be shown.
	Now time.Time
	// Rand throws the dice.
	Rand *rand.Rand
	// History is the usual value of [HistoryVar], and Found reports for words whether
	// it contains them. Words that are missing there are searched when they are
	// asked for, and noted.
	History string
	Found   map[string]bool
	// Judge asks an importance function about the entry whose text is expanded. It is nil if no importance
	// functions are available.
	Judge func(ctx context.Context, function string) (include bool, reason string, err error)
	// WithSpans makes [Result.Spans].
	WithSpans bool
	// UndefinedIsEmpty prints nothing for a variable that is not defined, instead of
	// the text that conditions compare with.
	UndefinedIsEmpty bool
}

// Result is a text that was expanded. [Machine.Expand] creates it; it is only data.
type Result struct {
	// Text is the expanded text.
	Text string
	// Errors lists the macros that failed, and expanded to nothing.
	Errors []wording.Text
	// Hits are the keywords that were found, in order, without repetition.
	Hits []string
	// Verdicts lists the answers of importance functions: the function and its reason.
	Verdicts []string
	// Spans cover Text, in order. Only machines with WithSpans make them.
	Spans []Span
}

// Span is a stretch of an expanded text with its source: text outside of macros, or one macro. [Machine.Expand]
// creates it; it is only data.
type Span struct {
	Start, End             int // bytes of the expanded text
	SourceStart, SourceEnd int // bytes of the text with its macros
	// IsMacro is set if a macro printed the stretch; else it is a copy.
	IsMacro bool
	// Variables are the paths of the variables that the macro has read, each once, the last one last.
	Variables []string
	// IsVariable is set if the macro printed the last of Variables, as it is.
	IsVariable bool
}

// run is one expansion.
type run struct {
	*Machine
	ctx    context.Context
	vars   *Vars
	result Result
	size   int
	read   []string // variables that were read, if spans are wanted
}

func (r *run) addError(format string, args ...any) {
	r.result.Errors = append(r.result.Errors, wording.Say(format, args...))
}

// getText returns a variable as text, or a text for a missing one.
func (r *run) getText(path string) string { return varText(r.lookupVar(path)) }

// lookupVar returns a variable. An undefined one is a text that cards compare with.
func (r *run) lookupVar(path string) value.Value {
	if v, ok := r.vars.Get(path); ok {
		if r.WithSpans {
			r.read = append(slices.DeleteFunc(r.read, func(known string) bool { return known == path }), path)
		}
		return v
	}
	if r.UndefinedIsEmpty {
		return value.OfString("")
	}
	return value.OfString(undefinedPrefix + path + "]")
}

const undefinedPrefix = "[UndefinedVar:"

func (r *run) setVar(path string, v value.Value) {
	if !r.vars.Set(path, v) {
		r.addError("the variable %q cannot be set", value.Truncate(path, 60))
	}
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

// incrementVar counts from 0 if there is no number yet.
func (r *run) incrementVar(param string, by float64) string {
	name := strings.TrimSpace(strings.TrimLeft(param, ":"))
	old, _ := toFloat(r.lookupVar(name))
	r.setVar(name, value.OfString(floatText(old+by)))
	return ""
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

func chineseWeekday(t time.Time) string {
	return [...]string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}[t.Weekday()]
}

// timeUTC returns the local time moved by some hours, as presets mean
// time_utc+8; anything else than a number of hours moves nothing.
func (r *run) timeUTC(hours string) string {
	h, err := strconv.Atoi(strings.TrimSpace(hours))
	if err != nil || h < -1000 || h > 1000 {
		h = 0
	}
	return r.Now.Add(time.Duration(h) * time.Hour).Format("15:04:05")
}
