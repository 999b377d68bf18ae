// Package verify is the conformance suite of plugins: it checks one, in any language, for everything that the host
// relies on, for example that each answer belongs to its request. `scheduler plugins verify` and package
// pluginstest run it.
package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
)

// Result is the result of one check; Err is nil if it passed.
type Result struct {
	Check string
	Err   error
}

// Folder starts the plugin in a folder, trusted or not, runs all checks on it and ends it.
func Folder(ctx context.Context, dir, name string, opts host.Options) ([]Result, error) {
	h, err := host.Single(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	results := Run(ctx, h, name)
	if err := h.Close(); err != nil {
		results = append(results, Result{Check: "leaves nothing behind", Err: err})
	}
	return results, nil
}

// Run runs all checks on one trusted plugin of a host (see [host.Single] and [host.InProcess] for hosts of one
// plugin). It takes a few seconds if the plugin does not end by itself.
func Run(ctx context.Context, h *host.Host, name string) []Result {
	s, err := newSuite(h, name)
	if err != nil {
		return []Result{{"description", err}}
	}
	var results []Result
	for _, c := range s.checks() {
		results = append(results, Result{c.name, s.run(ctx, c)})
	}
	return results
}

// suite checks one plugin.
type suite struct {
	probe    *host.Probe
	entry    *manifest.Entry
	registry *calls.Registry
	failed   map[string]bool // the checks that failed, by name
}

func newSuite(h *host.Host, name string) (*suite, error) {
	registry, err := calls.NewRegistry()
	if err != nil {
		return nil, err
	}
	if err := h.Register(registry); err != nil {
		return nil, err
	}
	probe := h.Probe(name)
	if probe == nil {
		return nil, wording.Errorf("unknown plugin %q", name)
	}
	return &suite{probe: probe, entry: probe.Entry(), registry: registry, failed: map[string]bool{}}, nil
}

type check struct {
	name string
	run  func(ctx context.Context) error
}

// run runs one check. It forgets failures before it, so that each check is independent.
func (s *suite) run(ctx context.Context, c check) error {
	s.probe.ResetFailures()
	err := c.run(ctx)
	if err == nil {
		return nil
	}
	s.failed[c.name] = true
	if hint := calls.HintOf(err); hint != "" {
		return wording.Errorf("%w (%s)", err, hint)
	}
	return err
}

// workingFunctions returns the functions that passed their own check.
func (s *suite) workingFunctions() []*manifest.Function {
	var all []*manifest.Function
	for i := range s.entry.Functions {
		if f := &s.entry.Functions[i]; !s.failed[label(f)] {
			all = append(all, f)
		}
	}
	return all
}

func (s *suite) checks() []check {
	checks := []check{
		{"description", s.checkDescription},
		{"starts", s.checkStart},
	}
	for i := range s.entry.Functions {
		f := &s.entry.Functions[i]
		checks = append(checks, check{label(f), func(ctx context.Context) error { return s.checkFunction(ctx, f) }})
	}
	return append(checks,
		check{"unknown function", s.checkUnknownFunction},
		check{"input that is not JSON", s.checkGarbage},
		check{"large request", s.checkLargeRequest},
		check{"many requests at once", s.checkConcurrency},
		check{"cancelled request", s.checkCancellation},
		check{"ends when asked", s.checkShutdown},
		check{"ends with its host", s.checkOrphan},
	)
}

// label names a function in the results.
func label(f *manifest.Function) string { return string(f.Kind) + " " + f.Name }

// checkDescription requires all texts that people and lint read.
func (s *suite) checkDescription(context.Context) error {
	var problems []error
	for i := range s.entry.Functions {
		f := &s.entry.Functions[i]
		if f.DocZh == "" {
			problems = append(problems, wording.Errorf("%s: doc_zh is empty (describe in one Chinese sentence what it does)", f.Name))
		}
		if f.Kind != manifest.Call {
			continue
		}
		for _, err := range callProblems(f) {
			problems = append(problems, wording.Errorf("%s: %w", f.Name, err))
		}
	}
	return errors.Join(problems...)
}

// callProblems finds missing parts in the description of a call.
func callProblems(f *manifest.Function) (problems []error) {
	report := func(format string, args ...any) { problems = append(problems, wording.Errorf(format, args...)) }
	if len(f.Examples) == 0 {
		report("it has no example (give it one that runs without a network)")
	}
	properties, _ := f.Params.Get("properties")
	for name, p := range properties.Map().All() {
		if doc, _ := p.Get("description"); doc.IsNull() {
			report("the parameter %q has no description (give it one in its schema)", name)
		}
	}
	for _, name := range f.Literal {
		if _, ok := properties.Get(name); !ok {
			report("the literal parameter %q does not exist", name)
		}
	}
	params, err := schema.Parse(f.Params)
	if err != nil {
		report("%w", err)
		return problems
	}
	unknown := value.OfMap(value.Pairs("no_such_parameter_anywhere", 1))
	if !slices.ContainsFunc(params.Check(unknown), func(p schema.Problem) bool { return p.Keyword == "additionalProperties" }) {
		report("its parameters accept unknown names (add additionalProperties: false, so that misspelled ones are found)")
	}
	return problems
}

// checkStart starts the plugin for the second time: the host compares both programs, and
// how they describe themselves.
func (s *suite) checkStart(ctx context.Context) error {
	_, err := s.probe.Instance(ctx)
	return err
}
