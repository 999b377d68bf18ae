package syntax

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/strftime"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Options are how a template is read; the zero value is the language of flows.
type Options struct {
	// Transformers reads a chat template of a model as Hugging Face's transformers
	// do. Beyond the language of flows:
	//   - the line break after a statement or a comment is dropped, and so is the
	//     white space before one at the beginning of a line; the last line break of
	//     the template too
	//   - a name or member that is undefined is empty text, false and an empty list;
	//     only its members and operations on it are errors
	//   - break and continue, {% generation %}, raise_exception(message) and
	//     strftime_now(format)
	//   - a filter or a test that does not exist is an error only when it is reached
	Transformers bool
	// Now is the clock of strftime_now; nil is time.Now.
	Now func() time.Time
}

// funcs returns the functions of the dialect.
func (o Options) funcs() map[string]pyvalue.Func {
	if !o.Transformers {
		return nil
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return map[string]pyvalue.Func{
		"raise_exception": func(_ context.Context, args []value.Value) (value.Value, error) {
			if len(args) != 1 {
				return value.Value{}, wording.Errorf("raise_exception takes one argument, the message")
			}
			return value.Value{}, errors.New(pyvalue.Text(args[0]))
		},
		"strftime_now": func(_ context.Context, args []value.Value) (value.Value, error) {
			if len(args) != 1 {
				return value.Value{}, wording.Errorf("strftime_now takes one argument, the format")
			}
			return value.OfString(strftime.Format(now(), pyvalue.Text(args[0]))), nil
		},
	}
}

// prepare drops the last line break of a chat template.
func (o Options) prepare(text string) string {
	if !o.Transformers {
		return text
	}
	for _, end := range []string{"\r\n", "\n", "\r"} {
		if rest, ok := strings.CutSuffix(text, end); ok {
			return rest
		}
	}
	return text
}

// trimIndent drops white space at the end of text when a statement or a comment follows it on its line. lineStart
// means that the text begins a line.
func trimIndent(text string, lineStart bool) string {
	line := strings.LastIndexAny(text, "\r\n") + 1
	isLine := line > 0 || lineStart
	if isLine && strings.TrimFunc(text[line:], pyvalue.IsSpace) == "" {
		return text[:line]
	}
	return text
}
