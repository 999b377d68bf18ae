package flow

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow/internal/yamltext"
)

// parseYAML returns the root node, or nil if the text is not YAML.
func (u *unit) parseYAML() *yaml.Node {
	if len(u.Bytes) > yaml.MaxBytes {
		u.add(u.position(0), "the file has more than %d bytes", yaml.MaxBytes).hint("put data into files of its own and name them with !file")
		return nil
	}
	if wrong := value.FindEncodingError(u.Bytes); wrong != nil {
		message, hint := wrong.Text()
		u.add(u.position(wrong.Offset), "%s", message).setHint(hint)
		return nil
	}
	root, err := yaml.Parse(u.Bytes)
	var fault *yaml.Error
	switch {
	case errors.As(err, &fault):
		u.notYAML(fault)
		return nil
	case err != nil:
		u.add(u.position(0), "%v", err)
		return nil
	case root == nil:
		u.add(u.position(0), "the file is empty").hint("a flow has steps: [{id: ..., call: ...}]")
		return nil
	}
	return root
}

// notYAML reports a syntax error at its most likely place: the library only names a line, often the first of the
// map around it, and cannot know that a template was meant.
func (u *unit) notYAML(fault *yaml.Error) {
	defer func() {
		p := &u.problems[len(u.problems)-1]
		p.Snippet = yaml.Snippet(u.Bytes, p.Pos.Line, p.Pos.Col)
	}()
	if fault.JSON {
		message, _ := fault.Text()
		u.add(u.position(u.Offset(fault.Line, fault.Col)), "%s", message)
		return
	}
	if at := u.bareTemplate(fault.Line - 1); at >= 0 {
		text := clipText(string(u.Bytes[at : at+yamltext.RestOfLine(u.Bytes[at:])]))
		u.add(u.position(at), "a template must be quoted: YAML takes { for the start of a map").
			hint(`quote the whole value: "%s"`, strings.ReplaceAll(text, `"`, `'`))
		return
	}
	for line := max(1, fault.Line-1); line <= min(fault.Line+1, len(u.Lines)); line++ {
		start := u.Offset(line, 1)
		blank := len(u.Bytes[start:]) - len(bytes.TrimLeft(u.Bytes[start:], " \t"))
		if i := bytes.IndexByte(u.Bytes[start:start+blank], '\t'); i >= 0 {
			u.add(u.position(start+i), "a tab in the indentation").hint("YAML is indented with spaces")
			return
		}
	}
	if at, end := u.bareFlowValue(fault.Line - 1); strings.Contains(fault.Msg, "',' or '") && at >= 0 {
		text := string(u.Bytes[at:end])
		u.add(u.position(at), "inside { } and [ ] a value with ? or : must be quoted").
			hint(`write "%s"`, strings.ReplaceAll(clipText(text), `"`, `'`))
		return
	}
	at := u.Offset(fault.Line, max(fault.Col, 1))
	if fault.Col == 0 {
		at += yamltext.LeadingSpaces(u.Bytes[at:])
	}
	message, hint := fault.Text()
	p := u.add(u.position(at), "%s", message)
	p.setHint(hint)
	if strings.Contains(fault.Msg, "second YAML document") {
		p.hint("take the --- out, or make it a file of its own")
	}
}

var (
	bareValue  = regexp.MustCompile(`^\s*(?:- +)*(?:[\w-]+:\s+|- +)(\{[{%])`)
	blockValue = regexp.MustCompile(`[:-]\s+(?:!\S+\s+)?[|>][-+0-9]*\s*(?:#.*)?$`)
)

// flowValue is a value of a map in braces, without quotes, that the YAML library
// ends too early: at a question mark before the end, or at a second colon.
var flowValue = regexp.MustCompile(`[{,]\s*[\w-]+:\s+([^\s"'{}\[\],&*!|>#][^"'{}\[\],]*?(?:\?|: [^"'{}\[\],]*))\s*[,}]`)

// bareFlowValue finds the first such value from a line on, as the bytes [start,
// end); -1 for none.
func (u *unit) bareFlowValue(from int) (start, end int) {
	for _, at := range u.Lines[min(max(from, 0), len(u.Lines)):] {
		line := u.Bytes[at : at+yamltext.RestOfLine(u.Bytes[at:])]
		if m := flowValue.FindSubmatchIndex(line); m != nil {
			return at + m[2], at + m[3]
		}
	}
	return -1, -1
}

// bareTemplate finds the first value from a line on that begins with {{ or {% and
// is not quoted, outside of block scalars; -1 for none.
func (u *unit) bareTemplate(from int) int {
	block := -1 // the indentation of the key whose block scalar this is
	for i, start := range u.Lines {
		line := u.Bytes[start : start+yamltext.RestOfLine(u.Bytes[start:])]
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if block >= 0 && yamltext.LeadingSpaces(line) > block {
			continue
		}
		block = -1
		if blockValue.Match(line) {
			block = yamltext.LeadingSpaces(line)
		}
		if m := bareValue.FindSubmatchIndex(line); m != nil && i+1 >= from {
			return start + m[2]
		}
	}
	return -1
}
