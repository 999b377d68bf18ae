package input

import (
	"errors"
	"io/fs"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
)

// lint finds problems of a config, in the flow or in a file, beyond its schema: duplicate names, importance
// functions and variables that do not exist.
func lint(params value.Value, env calls.LintEnv) []schema.Problem {
	if doc, _ := params.Get("config"); doc.Kind() == value.Object {
		if cfg, _, _ := checkConfig(doc); cfg == nil { // the schema check reports it
			return nil
		}
		return underPointer("/config", lintConfig(doc, params, env.Registry))
	}
	given, _ := params.Get("config_path")
	path, ok := given.Str()
	if !ok || path == "" || env.Files == nil { // not given, or known when the flow runs
		return nil
	}
	problems := lintFile(path, params, env)
	if policy, _ := params.Get("on_invalid"); policy.JSON() == `"default"` { // it runs all the same
		for i := range problems {
			problems[i].Warning = true
		}
	}
	return problems
}

// lintFile looks at a config file; its problems have their places in the file.
func lintFile(name string, params value.Value, env calls.LintEnv) schema.Problems {
	const pointer = "/config_path"
	content, path, err := env.Files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return schema.Problems{schema.Problem{Pointer: pointer, Hint: "paths are relative to the flow file"}.WithMessage("there is no file %s", name)}
	}
	if errors.Is(err, calls.ErrNotRegular) {
		return schema.Problems{schema.Problem{Pointer: pointer}.WithMessage("%s is not a regular file", name).WithHint("name a file")}
	}
	if err != nil || len(content) > maxFile {
		return nil //nolint:nilerr // nothing can be said: it is read when the flow runs
	}
	doc, err := jsonc.Parse(content)
	if err != nil {
		var fault *jsonc.Error
		if !errors.As(err, &fault) {
			return schema.Problems{calls.ProblemOf(pointer, err)}
		}
		return schema.Problems{schema.Problem{Pointer: pointer, File: path, Line: fault.Line, Col: fault.Col}.WithMessage("%s", fault.Text())}
	}
	problems := lintConfig(doc.Value, params, env.Registry)
	for i, p := range problems {
		at := p.Pointer
		message, _ := p.Text()
		p.Pointer, p.Keyword, p.File = pointer, "", path // the keyword is not one of the parameter
		p.Line, p.Col = doc.At(at)
		if at != "" {
			p = p.WithMessage("%s: %s", dottedPath(at), message)
		}
		problems[i] = p
	}
	return problems
}

// lintConfig is lint of one configuration; the pointers are those in it.
func lintConfig(doc, params value.Value, registry *calls.Registry) schema.Problems {
	cfg, problems, duplicates := checkConfig(doc)
	problems = append(problems, duplicates...)
	if cfg == nil {
		return problems
	}
	strict, _ := params.Get("strict")
	for _, w := range cfg.warnings {
		w.Warning = strict.JSON() != "true"
		problems = append(problems, w)
	}
	given, has := params.Get("variables")
	policy, fixed := params.Get("on_unknown")
	if has && given.Kind() != value.Object {
		return problems // any name may be among them
	}
	failing := !fixed || policy.JSON() == `"error"`
	for _, u := range (variableNames{given: given.Map(), registry: registry}).findUnknown(cfg.Modules) {
		if u.variable == "" || failing {
			problems = append(problems, u.problem)
		}
	}
	return problems
}

func underPointer(pointer string, problems schema.Problems) schema.Problems {
	moved := make(schema.Problems, len(problems))
	for i, p := range problems {
		p.Pointer = pointer + p.Pointer
		moved[i] = p
	}
	return moved
}
