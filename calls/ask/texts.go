package ask

import (
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Texts describes the texts of a call that uses [Prompt], for its Definition: own is
// what it gives to Prompt.
func Texts(call string, own fs.FS) calls.Texts {
	return calls.Texts{Folder: call, BuiltIn: own, Check: func(_ string, text []byte) []schema.Problem {
		return check(own, string(text))
	}}
}

// Again describes the texts of this package, which [JSON] uses.
func Again() calls.Texts { return Texts("ask", texts) }

// check finds what is wrong in a text that a user wrote. It may use the fields that
// the English texts beside it use.
func check(own fs.FS, text string) []schema.Problem {
	t, err := template.New("text").Parse(text)
	if err != nil {
		return []schema.Problem{syntax(text, err)}
	}
	var known []string
	english, err := template.ParseFS(own, "lang/en/*")
	if err != nil {
		return []schema.Problem{{Line: 1, Col: 1, Message: err.Error()}}
	}
	for _, f := range fields(english) {
		known = append(known, "."+f.name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var problems []schema.Problem
	for _, f := range fields(t) {
		if name := "." + f.name; !slices.Contains(known, name) {
			problems = append(problems, calls.UnknownName(text, f.offset, name, known))
		}
	}
	return problems
}

var syntaxError = regexp.MustCompile(`^template: [^:]*:(\d+): `)

// syntax is an error of the template parser, which knows the line only: the column is
// that of the first action in it.
func syntax(text string, err error) schema.Problem {
	p := schema.Problem{Line: 1, Col: 1, Message: err.Error()}
	found := syntaxError.FindStringSubmatch(p.Message)
	if found == nil {
		return p
	}
	p.Message = p.Message[len(found[0]):]
	if n, err := strconv.Atoi(found[1]); err == nil {
		p.Line = n
	}
	lines := strings.Split(text, "\n")
	if p.Line > len(lines) {
		return p
	}
	if before, _, action := strings.Cut(lines[p.Line-1], "{{"); action {
		_, p.Col = value.LineCol(before, len(before))
	}
	return p
}

// field is a use of a field, and where.
type field struct {
	name   string
	offset int
}

// fields are those that a template uses, in the order of the text.
func fields(t *template.Template) (all []field) {
	var walk func(nodes ...parse.Node)
	branch := func(b *parse.BranchNode) {
		walk(b.Pipe, b.List)
		if b.ElseList != nil {
			walk(b.ElseList)
		}
	}
	names := func(at parse.Node, names []string) {
		for _, name := range names {
			all = append(all, field{name, int(at.Position())})
		}
	}
	walk = func(nodes ...parse.Node) {
		for _, node := range nodes {
			switch n := node.(type) {
			case *parse.ListNode:
				walk(n.Nodes...)
			case *parse.ActionNode:
				walk(n.Pipe)
			case *parse.PipeNode:
				if n == nil { // {{template "x"}}
					continue
				}
				for _, c := range n.Cmds {
					walk(c.Args...)
				}
			case *parse.IfNode:
				branch(&n.BranchNode)
			case *parse.RangeNode:
				branch(&n.BranchNode)
			case *parse.WithNode:
				branch(&n.BranchNode)
			case *parse.TemplateNode:
				walk(n.Pipe)
			case *parse.ChainNode:
				walk(n.Node)
				names(n, n.Field)
			case *parse.FieldNode:
				names(n, n.Ident)
			case *parse.VariableNode:
				names(n, n.Ident[1:])
			}
		}
	}
	for _, one := range t.Templates() {
		if one.Tree != nil {
			walk(one.Root)
		}
	}
	slices.SortStableFunc(all, func(a, b field) int { return a.offset - b.offset })
	return all
}

// read gives a text of a call in the language of the run, as a template, and what it is
// called.
func read(env *calls.Env, call string, own fs.FS, name string) (t *template.Template, called string, err error) {
	set := Texts(call, own)
	source, path, err := set.Read(env.Languages, env.Vars.Language, name+".txt")
	if err != nil {
		return nil, "", err
	}
	t, err = template.New(name).Option("missingkey=error").Parse(string(source))
	if err != nil {
		p := syntax(string(source), err)
		return nil, "", calls.Errorf(calls.Invalid, "%s:%d:%d: %s", path, p.Line, p.Col, p.Message)
	}
	return t, set.Named(path, name+".txt"), nil
}
