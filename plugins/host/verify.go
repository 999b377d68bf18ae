package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Single is a host of the one plugin in a folder, trusted for as long as the host
// lives. The plugin is started once, to say what it is.
func Single(ctx context.Context, dir string, opts Options) (*Host, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	h := newHost(opts)
	h.folders[m.Name] = dir
	proc, err := (&program{host: h, name: m.Name, dir: dir}).launch(ctx)
	if err != nil {
		if left := h.Close(); left != nil {
			err = fmt.Errorf("%w; %w", err, left)
		}
		return nil, calls.Errorf(calls.Plugin, "plugin %s: %w", m.Name, err)
	}
	proc.stop(h.opts.StopGrace)
	h.lock.put(*proc.entry)
	h.add(proc.entry, &program{host: h, name: m.Name, dir: dir, trusted: proc.entry}, m.Limits)
	return h, nil
}

// Result is one check of the conformance suite; Err is nil where it holds.
type Result struct {
	Check string
	Err   error
}

// Verify is the conformance suite: it holds every plugin of the host to what the
// host relies on. It takes a few seconds where a plugin does not end by itself.
func (h *Host) Verify(ctx context.Context) []Result {
	var results []Result
	for _, name := range h.Names() {
		registry, err := calls.NewRegistry()
		if err != nil {
			return append(results, Result{name, err})
		}
		v := &verification{plugin: h.plugins[name], registry: registry, failed: map[string]bool{}}
		prefix := ""
		if len(h.Names()) > 1 {
			prefix = name + ": "
		}
		for _, c := range v.checks() {
			results = append(results, Result{prefix + c.name, v.run(ctx, c)})
		}
	}
	return results
}

type check struct {
	name string
	run  func(ctx context.Context) error
}

// verification checks one plugin.
type verification struct {
	plugin   *plugin
	registry *calls.Registry
	failed   map[string]bool // names of checks
}

// run runs one check. What failed before it is forgotten: each check speaks of one
// thing.
func (v *verification) run(ctx context.Context, c check) error {
	v.plugin.succeeded()
	err := c.run(ctx)
	if err == nil {
		return nil
	}
	v.failed[c.name] = true
	if hint := calls.HintOf(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}

// sound are the functions that work by themselves.
func (v *verification) sound() []*Function {
	var all []*Function
	for i := range v.plugin.entry.Functions {
		if f := &v.plugin.entry.Functions[i]; !v.failed[f.label()] {
			all = append(all, f)
		}
	}
	return all
}

func (v *verification) checks() []check {
	checks := []check{
		{"description", v.description},
		{"starts", v.starts},
	}
	for i := range v.plugin.entry.Functions {
		f := &v.plugin.entry.Functions[i]
		checks = append(checks, check{f.label(), func(ctx context.Context) error { return v.function(ctx, f) }})
	}
	return append(checks,
		check{"unknown function", v.unknown},
		check{"input that is no JSON", v.garbage},
		check{"large request", v.large},
		check{"many requests at once", v.concurrent},
		check{"cancelled request", v.cancelled},
		check{"ends when asked", v.shutdown},
		check{"ends with its host", v.orphan},
	)
}

// label names the function in the results of the suite.
func (f *Function) label() string { return string(f.Kind) + " " + f.Name }

// description wants what people and lint read.
func (v *verification) description(context.Context) error {
	if err := v.plugin.register(v.registry); err != nil {
		return err
	}
	var problems []error
	problem := func(f *Function, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %w", f.Name, fmt.Errorf(format, args...)))
	}
	for i := range v.plugin.entry.Functions {
		f := &v.plugin.entry.Functions[i]
		if f.DocZh == "" {
			problem(f, "it has no doc_zh: say in one sentence what it does, in Chinese")
		}
		if f.Kind != Call {
			continue
		}
		if len(f.Examples) == 0 {
			problem(f, "it has no example: give it one that runs without a network")
		}
		properties, _ := f.Params.Get("properties")
		for name, p := range properties.Map().All() {
			if doc, _ := p.Get("description"); doc.IsNull() {
				problem(f, "the parameter %q has no description: give it one in its schema", name)
			}
		}
		for _, name := range f.Literal {
			if _, ok := properties.Get(name); !ok {
				problem(f, "the literal parameter %q does not exist", name)
			}
		}
		s, err := schema.Parse(f.Params)
		if err != nil {
			problem(f, "%w", err)
			continue
		}
		stranger := value.OfMap(value.Pairs("no_such_parameter_anywhere", 1))
		if !slices.ContainsFunc(s.Check(stranger), func(p schema.Problem) bool { return p.Keyword == "additionalProperties" }) {
			problem(f, "its parameters take unknown names: add additionalProperties: false, so that misspelt ones are found")
		}
	}
	return errors.Join(problems...)
}

// starts holds the second start to the first: [program.launch] compares them.
func (v *verification) starts(ctx context.Context) error {
	if p, ok := v.plugin.launcher.(*program); ok {
		m, err := ReadManifest(p.dir)
		if err == nil {
			err = unchanged(p.dir, m, p.trusted.SHA256)
		}
		if err != nil {
			return err
		}
	}
	_, err := v.plugin.acquire(ctx)
	return err
}
