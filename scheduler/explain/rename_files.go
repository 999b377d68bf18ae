package explain

import (
	"maps"
	"slices"
	"strings"
)

// WithFileNames returns the explanation with other names for the files of its places, so that it does not depend
// on the working directory. Names that calls chose themselves, for example the files of a workspace, are kept.
func (e *Explanation) WithFileNames(name func(path string) string) *Explanation {
	return e.withNames(fileNamer{name: name, known: map[string]string{}})
}

// WithPaths is [Explanation.WithFileNames] that renames every path, also of files that calls have named: for readers who do not
// learn the paths of the machine.
func (e *Explanation) WithPaths(name func(path string) string) *Explanation {
	return e.withNames(fileNamer{name: name, known: map[string]string{}, isForAll: true})
}

func (e *Explanation) withNames(names fileNamer) *Explanation {
	e.eachPiece(func(p *Piece) { names.collect(p.Sources) }) // Edited are among them
	maps.DeleteFunc(names.known, func(path, name string) bool { return path == name })
	if len(names.known) == 0 {
		return e
	}
	renamed := *e
	renamed.Messages = slices.Clone(e.Messages)
	for i := range renamed.Messages {
		m := &renamed.Messages[i]
		m.Pieces = slices.Clone(m.Pieces)
		for j := range m.Pieces {
			m.Pieces[j].Sources = names.rename(m.Pieces[j].Sources)
		}
	}
	renamed.Beside = slices.Clone(e.Beside)
	for i := range renamed.Beside {
		text := &renamed.Beside[i]
		text.Pieces = slices.Clone(text.Pieces)
		for j := range text.Pieces {
			text.Pieces[j].Sources = names.rename(text.Pieces[j].Sources)
		}
	}
	renamed.Edited = slices.Clone(e.Edited)
	for i, file := range renamed.Edited {
		renamed.Edited[i] = names.nameOf(file)
	}
	if e.Cache != nil && e.Cache.Broken != nil {
		cache, broken := *e.Cache, *e.Cache.Broken
		broken.Piece.Sources = names.rename(broken.Piece.Sources)
		cache.Broken = &broken
		renamed.Cache = &cache
	}
	return &renamed
}

// fileNamer renames files in sources. It lives for one explanation.
type fileNamer struct {
	name  func(path string) string
	known map[string]string // names by paths
	// isForAll is set if paths that calls have named by themselves get other names, too.
	isForAll bool
}

// collect finds the files that sources are placed in. A file that a flow reads has a place in it, and one of its own.
func (n *fileNamer) collect(sources []Source) {
	for i := range sources {
		s := &sources[i]
		n.add(s.File)
		isOfFlow := s.Kind == SourceFile && s.File != ""
		if isOfFlow || n.isForAll {
			n.add(s.Path)
		}
		if s.Kind == SourceFile && n.isForAll {
			n.add(s.Name)
		}
		n.collect(s.Origins)
		n.collect(s.Possible)
	}
}

func (n *fileNamer) add(path string) {
	if _, isKnown := n.known[path]; !isKnown && path != "" {
		n.known[path] = n.name(path)
	}
}

// rename returns sources with the names of their files.
func (n *fileNamer) rename(sources []Source) []Source {
	if len(sources) == 0 {
		return sources
	}
	renamed := slices.Clone(sources)
	for i := range renamed {
		s := &renamed[i]
		s.File, s.Path = n.nameOf(s.File), n.nameOf(s.Path)
		if s.Kind == SourceFile && n.isForAll {
			s.Name = n.nameOf(s.Name)
		}
		s.Origins, s.Possible = n.rename(s.Origins), n.rename(s.Possible)
		if len(s.From) == 0 {
			continue
		}
		s.From = slices.Clone(s.From)
		for j := range s.From {
			s.From[j] = n.renamePlaces(s.From[j])
		}
	}
	return renamed
}

func (n *fileNamer) nameOf(path string) string {
	if name, ok := n.known[path]; ok {
		return name
	}
	return path
}

// renamePlaces renames the files in the places of a text, FILE:LINE:COL: those at its beginning, behind a space or a bracket.
func (n *fileNamer) renamePlaces(text string) string {
	for _, path := range slices.Sorted(maps.Keys(n.known)) {
		mark := path + ":"
		for from := 0; ; {
			i := strings.Index(text[from:], mark)
			if i < 0 {
				break
			}
			i += from
			from = i + len(mark)
			isBegun := i == 0 || strings.ContainsRune(" (", rune(text[i-1]))
			isPlace := from < len(text) && text[from] >= '0' && text[from] <= '9'
			if isBegun && isPlace {
				text = text[:i] + n.known[path] + text[i+len(path):]
				from += len(n.known[path]) - len(path)
			}
		}
	}
	return text
}
