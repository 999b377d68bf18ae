package ask

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// Texts describes the texts of a call, for its Definition: own are the texts that it passes to [Prompt]. They are
// templates of llm/prompt. A user's text may mention the names that the English one mentions.
func Texts(call string, own fs.FS) calls.Texts {
	return calls.Texts{Folder: call, BuiltIn: own, Check: func(name string, text []byte) []schema.Problem {
		return checkText(own, name, string(text))
	}}
}

// RetryTexts describes the texts of this package, which [JSON] and [Wording] use.
func RetryTexts() calls.Texts { return Texts("ask", texts) }

// Prompt renders a text of a call in the language of the run: NAME.txt as [calls.Texts]
// finds it, in the folder CALL of users and in the call's own texts. The last newline of
// the file does not belong to the text. A call that uses it has [Texts] in its
// Definition.
func Prompt(ctx context.Context, env *calls.Env, call string, own fs.FS, name string, values *value.Map) (string, error) {
	text, _, err := TracedPrompt(ctx, env, call, own, name, Values{Map: values})
	return text, err
}

// Values are the values of a text's names, and the origins of their texts.
type Values struct {
	*value.Map
	// origins are the origins of the texts, by name and pointer below it: known/3.
	origins map[string][]calls.Origin
}

// NewValues returns values without known origins.
func NewValues(pairs ...any) Values {
	return Values{value.Pairs(pairs...), map[string][]calls.Origin{}}
}

// Trace sets the origins of the text of a name, or at a pointer below it, and returns
// the text.
func (v Values) Trace(name string, text calls.Traced) string {
	if len(text.Origins) > 0 {
		v.origins[name] = text.Origins
	}
	return text.Text
}

// Put adds a name with a traced text.
func (v Values) Put(name string, text calls.Traced) {
	v.Set(name, value.OfString(v.Trace(name, text)))
}

// PutList adds a name with a list of traced texts.
func (v Values) PutList(name string, texts []calls.Traced) {
	list := make([]value.Value, len(texts))
	for i, text := range texts {
		list[i] = value.OfString(v.Trace(name+"/"+strconv.Itoa(i), text))
	}
	v.Set(name, value.OfList(list...))
}

// TracedPrompt is [Prompt] that also returns the origins of the pieces of the text, as parts of the first message
// of a request: see [calls.WithParts]. The kind of a part is text for the words of the file, else the name in
// values that it comes from; its name is then the path from there.
func TracedPrompt(ctx context.Context, env *calls.Env, call string, own fs.FS, name string, values Values) (string, []calls.Part, error) {
	set := Texts(call, own)
	source, path, err := set.Read(env.Languages, env.Vars.Language, name+".txt")
	if err != nil {
		return "", nil, err
	}
	t, err := parseOnce(set.IsBuiltIn(path), path, string(source))
	if err != nil {
		return "", nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	text, spans, err := t.Trace(ctx, prompt.Values{Map: values.Map})
	if err != nil {
		return "", nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	text = strings.TrimSuffix(text, "\n")
	lineOf := func(offset int) int { return 1 + strings.Count(string(source[:offset]), "\n") }
	return text, values.partsOf(spans, text, set.SourceName(path, name+".txt"), lineOf), nil
}

// checkText finds the faults in a user's text.
func checkText(own fs.FS, name, text string) []schema.Problem {
	t, err := parseText("", text)
	if err != nil {
		return []schema.Problem{syntaxProblem(err)}
	}
	source, err := fs.ReadFile(own, "lang/en/"+name)
	if err != nil {
		return []schema.Problem{schema.Problem{Line: 1, Col: 1}.WithMessage("%v", err)}
	}
	english, err := parseText("", string(source))
	if err != nil {
		return []schema.Problem{syntaxProblem(err)}
	}
	var known []string
	for _, ref := range english.Refs() {
		known = append(known, ref.Path[0])
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var problems []schema.Problem
	for _, ref := range t.Refs() {
		if !ref.Guarded && !slices.Contains(known, ref.Path[0]) {
			problems = append(problems, calls.UnknownName(text, ref.Offset, ref.Path[0], known))
		}
	}
	return problems
}

// goTemplate matches an action of Go's text/template, in which these texts were once
// written. Some of them are expressions here too, {{if .Name}} is if.Name.
var goTemplate = regexp.MustCompile(`\{\{-?\s*(?:\.[A-Za-z_\s}]|(?:range|if|with|define|block|template)\s+["$.(\w]|(?:else|end)\s*-?\}\})`)

// parsed holds the built-in templates that were used so far, by their texts: a template does
// not change and may be rendered by many steps at once.
var parsed sync.Map

// parseOnce is [parseText], once for each built-in text. Users' texts are parsed at each use, because their files
// may change.
func parseOnce(isBuiltIn bool, path, text string) (*prompt.Template, error) {
	if !isBuiltIn {
		return parseText(path, text)
	}
	if t, ok := parsed.Load(text); ok {
		return t.(*prompt.Template), nil
	}
	t, err := parseText(path, text)
	if err != nil {
		return nil, err
	}
	first, _ := parsed.LoadOrStore(text, t)
	return first.(*prompt.Template), nil
}

// parseText parses a text; errors are of type *[prompt.Error].
func parseText(path, text string) (*prompt.Template, error) {
	if at := goTemplate.FindStringIndex(text); at != nil {
		wrong := &prompt.Error{
			File: path, Offset: at[0], Msg: "the text is a Go template, but texts are templates as in flows",
			Hint: "write {{ name }} for {{.Name}}, {% if name %}...{% endif %} for {{if .Name}}...{{end}}, {% for x in names %}...{% endfor %} for {{range .Names}}...{{end}}",
		}
		wrong.Line, wrong.Col = value.LineCol(text, at[0])
		return nil, wrong
	}
	return prompt.Parse(prompt.Source{File: path, Text: text})
}

// syntaxProblem describes an error of [parseText].
func syntaxProblem(err error) schema.Problem {
	var wrong *prompt.Error
	if !errors.As(err, &wrong) {
		return schema.Problem{Line: 1, Col: 1}.WithMessage("%v", err)
	}
	message, hint := wrong.Text()
	return schema.Problem{Line: wrong.Line, Col: wrong.Col}.WithMessage("%s", message).WithHint("%s", hint)
}

// partsOf returns the parts of a rendered text. own is the name of the template, lineOf returns the line of a byte
// of it. A part that was computed from several values counts for the first.
func (v Values) partsOf(spans []prompt.Span, text, own string, lineOf func(offset int) int) (parts []calls.Part) {
	for _, s := range spans {
		end := min(s.End, len(text))
		if s.Start >= end {
			continue
		}
		if len(s.Sources) > 0 {
			piece := v.originsOf(s, text[s.Start:end])
			parts = append(parts, calls.Part{
				Kind: s.Sources[0].Name, Name: memberName(s.Sources[0]), Message: new(int), Start: s.Start, End: end, Included: true, Origins: piece.Origins,
			})
			continue
		}
		last := len(parts) - 1
		if last < 0 || parts[last].Kind != "text" {
			parts = append(parts, calls.Part{Kind: "text", Name: own, Message: new(int), Start: s.Start, Included: true})
			last++
		}
		words := &parts[last]
		words.End = end
		o := calls.Origin{Start: s.Start - words.Start, End: end - words.Start, Kind: calls.OriginText, Name: own, Line: lineOf(s.TemplateStart)}
		isCopy := s.Kind == prompt.Literal && s.TemplateEnd-s.TemplateStart == s.End-s.Start
		if isCopy {
			o.From = s.TemplateStart
		} else {
			o.Computed = true
		}
		words.Origins = append(words.Origins, o)
	}
	return parts
}

// originsOf returns the text of a span that came from values, with its origins.
func (v Values) originsOf(s prompt.Span, text string) calls.Traced {
	from := s.Sources[0]
	origins := v.origins[from.Name+from.Pointer]
	if len(origins) == 0 {
		return calls.Traced{Text: text}
	}
	if s.Kind == prompt.Reference {
		whole := calls.Traced{Text: strings.Repeat(" ", from.Start) + text, Origins: origins}
		return whole.Slice(from.Start, from.Start+len(text))
	}
	return calls.ComputedFrom(origins[0], text)
}

// MoveParts returns parts with another message as their place.
func MoveParts(parts []calls.Part, message int) []calls.Part {
	for i := range parts {
		parts[i].Message = &message
	}
	return parts
}

// memberName returns a value's name with its members, without the numbers of elements.
func memberName(ref prompt.ValueRef) string {
	name := ref.Name
	for token := range strings.SplitSeq(strings.TrimPrefix(ref.Pointer, "/"), "/") {
		if strings.Trim(token, "0123456789") != "" {
			name += "." + token
		}
	}
	return name
}
