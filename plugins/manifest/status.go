package manifest

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// State reports whether a plugin can be used.
type State string

// The states of plugins.
const (
	Trusted   State = "trusted"
	Untrusted State = "untrusted"  // it never was trusted
	Changed   State = "changed"    // its program is not the trusted one
	Missing   State = "missing"    // trusted, but in no folder
	NoProgram State = "no-program" // its command does not exist: not built, not installed
)

// stateOf looks at the files of a plugin; trusted is nil if it is not trusted.
func stateOf(dir string, m *Manifest, trusted *Entry) State {
	if _, err := Locate(dir, m); err != nil {
		return NoProgram
	}
	if trusted == nil {
		return Untrusted
	}
	if sum, err := Digest(dir, m); err != nil || sum != trusted.SHA256 {
		return Changed
	}
	return Trusted
}

// Status is one line of a list of plugins; see [Catalog.List].
type Status struct {
	Name, Version, Description string
	// Dir is the plugin's folder; "" if it is missing.
	Dir   string
	State State
	// Entry is the trusted entry; nil if the plugin is not trusted.
	Entry *Entry
}

// List returns all plugins that were found or are trusted, sorted by name, and the
// problems of folders.
func (c *Catalog) List(l *Lock) ([]Status, []error) {
	var all []Status
	problems := c.Problems()
	for name, dir := range c.dirs {
		m, err := Read(dir)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		trusted := l.Find(name)
		all = append(all, Status{
			Name: name, Version: m.Version, Description: m.Description, Dir: dir,
			State: stateOf(dir, m, trusted), Entry: trusted,
		})
	}
	for i := range l.Plugins {
		e := &l.Plugins[i]
		if c.dirs[e.Name] == "" {
			all = append(all, Status{Name: e.Name, Version: e.Version, Description: e.Description, State: Missing, Entry: e})
		}
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all, problems
}

// CheckUsable returns why flows cannot use a plugin, with a remedy; nil for one that they can, and for a name that
// is neither found nor trusted.
func (c *Catalog) CheckUsable(name string, trusted *Entry) error {
	dir := c.dirs[name]
	if dir == "" && trusted == nil {
		return nil
	}
	if dir == "" {
		return calls.Errorf(calls.Plugin, "the plugin %s is trusted, but its folder is missing", name).
			WithHint("restore it in one of %s", strings.Join(c.searched, ", "))
	}
	m, err := Read(dir)
	if err != nil {
		all := wording.OfError(err)
		all.En, all.Zh = strings.ReplaceAll(all.En, "\n", "; "), strings.ReplaceAll(all.Zh, "\n", "；")
		return calls.Errorf(calls.Plugin, "the plugin %s: %s", name, all)
	}
	if _, err := Locate(dir, m); err != nil {
		return err
	}
	switch stateOf(dir, m, trusted) {
	case Untrusted:
		return calls.Errorf(calls.Plugin, "the plugin %s is not trusted", name).
			WithHint("look at what it wants, then trust it: scheduler plugins trust %s", name)
	case Changed:
		err := calls.Errorf(calls.Plugin, "the plugin %s changed since it was trusted", name)
		if m.SealsGit(dir) {
			return err.WithHint("if you know why, trust it again: scheduler plugins trust %s; commands of Git change .git, so list that under data in %s before", name, FileName)
		}
		return err.WithHint("if you know why, trust it again: scheduler plugins trust %s", name)
	case Trusted, Missing, NoProgram:
	}
	return nil
}

// Review lists the facts that a user should know before trusting a plugin. [Catalog.Review] makes one.
type Review struct {
	Manifest *Manifest
	// Dir is its folder, SHA256 the [Digest] of its program.
	Dir, SHA256 string
	// Program is the path of its command; "" if that does not exist, which Missing explains.
	Program string
	Missing error
	// CoversCommand reports whether the program is a part of SHA256; an interpreter in PATH
	// is not.
	CoversCommand bool
	// Links are the links that lead out of the folder.
	Links []Link
	// Trusted is the entry trusted now; nil if the plugin is not trusted.
	Trusted *Entry
}

// Review reads a plugin's requests. It starts nothing.
func (c *Catalog) Review(name string, l *Lock) (*Review, error) {
	dir, err := c.Lookup(name)
	if err != nil {
		return nil, err
	}
	m, err := Read(dir)
	if err != nil {
		return nil, err
	}
	seal, err := NewSeal(dir, m, Started{})
	if err != nil {
		return nil, err
	}
	r := &Review{Manifest: m, Dir: dir, SHA256: seal.SHA256, CoversCommand: seal.CoversCommand, Links: seal.Links}
	r.Program, r.Missing = Locate(dir, m)
	if e := l.Find(name); e != nil {
		trusted := *e
		r.Trusted = &trusted
	}
	return r, nil
}
