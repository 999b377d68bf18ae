package manifest

import (
	"errors"
	"regexp"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/plugins/proto"
)

// maxFunctions bounds the functions of one plugin.
const maxFunctions = 1000

// NewEntry makes an entry of how a program described itself; sum is its [Digest]. The
// error lists everything that is wrong.
func NewEntry(m *Manifest, sum string, d *proto.Description) (*Entry, error) {
	e := &Entry{
		Name: m.Name, Version: m.Version, Description: m.Description, SHA256: sum,
		Command:  append([]string{m.Command}, m.Args...),
		Services: m.Services, Env: m.Env, Limits: m.Limits, Session: d.GetSession(),
	}
	var problems []error
	if d.GetName() != m.Name {
		problems = append(problems, wording.Errorf("its name is %q in the program and %q in %s", d.GetName(), m.Name, FileName))
	}
	if d.GetVersion() != m.Version {
		problems = append(problems, wording.Errorf("its version is %q in the program and %q in %s", d.GetVersion(), m.Version, FileName))
	}
	if n := len(d.GetFunctions()); n == 0 || n > maxFunctions {
		problems = append(problems, wording.Errorf("it has %d functions (want 1 to %d)", n, maxFunctions))
		return e, errors.Join(problems...)
	}
	for i, p := range d.GetFunctions() {
		f, err := newFunction(p)
		switch {
		case err != nil:
			problems = append(problems, wording.Errorf("function %d %q: %w", i+1, value.Truncate(p.GetName(), 100), err))
		case e.Function(f.Name) != nil:
			problems = append(problems, wording.Errorf("two functions are called %q", f.Name))
		default:
			e.Functions = append(e.Functions, *f)
		}
	}
	problems = append(problems, checkPrintable(value.Must(*e)))
	return e, errors.Join(problems...)
}

var (
	kebabCase = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	snakeCase = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// maxName bounds the name of a function.
const maxName = 100

// newFunction makes a function from its description.
func newFunction(p *proto.Function) (*Function, error) {
	f := &Function{
		Name: p.GetName(), DocEn: oneLine(p.GetDocEn()), DocZh: oneLine(p.GetDocZh()), Init: p.GetInit(),
		Retrieved: p.GetRetrieved(), LLM: p.GetLlm(), Literal: p.GetLiteral(),
	}
	form, formName := snakeCase, "snake_case"
	switch p.GetKind() {
	case proto.Kind_IMPORTANCE:
		f.Kind = Importance
	case proto.Kind_VARIABLE:
		f.Kind = Variable
	case proto.Kind_CHECK:
		f.Kind = Check
	case proto.Kind_CALL:
		f.Kind, form, formName = Call, kebabCase, "kebab-case"
	default:
		return nil, wording.Errorf("unknown kind %d (there are importance, variable, call and check)", p.GetKind())
	}
	if !form.MatchString(f.Name) || len(f.Name) > maxName {
		return nil, wording.Errorf("the name is not %s of up to %d characters", formName, maxName)
	}
	if f.DocEn == "" {
		return nil, wording.Errorf("doc_en is empty (describe in one sentence what it does)")
	}
	if len(f.DocEn)+len(f.DocZh) > maxText {
		return nil, wording.Errorf("its documentation has more than %d bytes", maxText)
	}
	if err := f.readSchemas(p); err != nil {
		return nil, err
	}
	for _, e := range p.GetExamples() {
		if _, err := yaml.ParseValue([]byte(e.GetWith())); err != nil {
			return nil, wording.Errorf("the example %q: %w", e.GetTitle(), err)
		}
		f.Examples = append(f.Examples, Example{Title: oneLine(e.GetTitle()), With: e.GetWith(), Answers: e.GetAnswers()})
	}
	return f, nil
}

// readSchemas reads the schemas that the kind of the function has.
func (f *Function) readSchemas(p *proto.Function) (err error) {
	for _, s := range []struct {
		name   string
		text   []byte
		doc    *value.Value
		wanted bool
	}{
		{"params", p.GetParams(), &f.Params, f.Kind == Call},
		{"input", p.GetInput(), &f.Input, f.Kind == Call},
		{"output", p.GetOutput(), &f.Output, f.Kind == Call || f.Kind == Variable},
	} {
		if !s.wanted {
			continue
		}
		*s.doc, err = parseSchema(s.text, f.Kind == Call)
		if err != nil {
			return wording.Errorf("the schema %s: %w", s.name, err)
		}
	}
	return nil
}

// parseSchema parses a JSON Schema; object requires the schema of an object.
func parseSchema(text []byte, object bool) (value.Value, error) {
	doc, err := value.ParseJSON(text)
	if err != nil {
		return value.Value{}, wording.Errorf("not JSON: %w", err)
	}
	if _, err := schema.Parse(doc); err != nil {
		return value.Value{}, err
	}
	if kind, _ := doc.Get("type"); object && kind.JSON() != `"object"` {
		return value.Value{}, wording.Errorf(`its type is not "object"`)
	}
	return doc, nil
}
