package report

import (
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// Options are the common options of all reports. The zero value is English, with paths as they are.
type Options struct {
	Language string
	// Path returns a path of [result.Position] as its reader can open it, from the working
	// directory; nil leaves them as they are.
	Path func(file string) string
	// Mask hides the secrets of a text; nil hides none. It is the second line of defence: the run masks them when
	// they come up.
	Mask func(text string) string
	// InActions is set if the output goes to a log of GitHub Actions, which carries out the commands in it.
	InActions bool
	// Currency is the unit of costs.
	Currency llm.Currency
}

func (o *Options) say(format string, args ...any) string {
	return wording.Say(format, args...).In(o.Language)
}

// place returns a position as its reader can open it.
func (o *Options) place(p result.Position) string {
	p.File = o.path(p.File)
	return p.String()
}

func (o *Options) path(file string) string {
	if o.Path == nil {
		return file
	}
	return o.Path(file)
}
