package syntax

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/refs"
)

// maxFaults bounds how many errors [CheckText] lists.
const maxFaults = 20

// errorCollector are the errors of a template as far as they are found, with the names
// that it mentioned before it was broken.
type errorCollector struct {
	list []error
	refs int // how many of the compiler's are sure; -1 for all
}

// skipBrokenTag notes an error of the tag that begins before start, and reports whether
// the compiler can go on behind it.
func (c *compiler) skipBrokenTag(err error, kind byte, start int) bool {
	e, ok := err.(*fault.Error) //nolint:errorlint // the package's own errors are never wrapped on their way up
	if c.faults == nil || len(c.faults.list) >= maxFaults-1 {
		return false
	}
	if !ok || e.Class == fault.Limit || kind == '#' {
		return false
	}
	if c.pos < start { // not even its words could be read
		closer := "}}"
		if kind == '%' {
			closer = "%}"
		}
		if !hasCloser(c.src[start:], closer) {
			return false
		}
		c.pos, c.trim = start+strings.Index(c.src[start:], closer)+len(closer), false
	}
	if kind == '%' && !c.broken {
		c.broken, c.faults.refs = true, len(c.refs.List)
	}
	c.faults.list = append(c.faults.list, e)
	return true
}

// CheckText returns all errors for which [CompileText] refuses a text instead of the first: every
// tag is read by itself where the ones before allow it. refs are the outer names that the correct
// ones mention.
func CheckText(text string, opts Options) (refs []refs.Ref, errs []error) {
	if len(text) > fault.MaxSource {
		return nil, []error{sourceTooLong()}
	}
	c := newCompiler(text, opts)
	c.faults = &errorCollector{refs: -1}
	if err := c.compileTemplate(); err != nil {
		c.faults.list = append(c.faults.list, err)
	}
	refs = c.refs.List
	if c.faults.refs >= 0 {
		refs = refs[:c.faults.refs]
	}
	return refs, c.faults.list
}
