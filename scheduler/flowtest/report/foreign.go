package report

import (
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/value"
)

// ForeignText returns a text of a model, a flow or a test file as a person may see it: without secrets, with everything
// quoted that steers a terminal or cannot be seen, and, in a log of GitHub Actions, without workflow commands.
func (o *Options) ForeignText(text string) string { return o.withoutCommands(o.visible(text)) }

// visible returns a text without secrets, and with everything quoted that steers a terminal or cannot be seen.
func (o *Options) visible(text string) string {
	if o.Mask != nil {
		text = o.Mask(text)
	}
	return value.Visible(text)
}

// withoutCommands breaks texts that a runner of GitHub Actions would execute as commands in its log: lines that
// begin with two colons, behind blanks too, and the older form, which counts anywhere in a line. For example,
// "::error::x" in an answer must not become an error of the job.
func (o *Options) withoutCommands(text string) string {
	if !o.InActions {
		return text
	}
	lines := strings.Split(strings.ReplaceAll(text, "##[", "## ["), "\n")
	for i, line := range lines {
		command := strings.TrimLeftFunc(line, unicode.IsSpace)
		if rest, ok := strings.CutPrefix(command, "::"); ok {
			lines[i] = line[:len(line)-len(command)] + ": :" + rest
		}
	}
	return strings.Join(lines, "\n")
}
