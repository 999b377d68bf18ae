package server

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/service"
)

// maxShownFile bounds a file that is shown, in bytes.
const maxShownFile = 4 << 20

// namedFile is a file as it is now.
type namedFile struct {
	path      string
	content   []byte
	isChanged bool // since the run read it, or it may be
}

// fileUse is a text of a prompt that a step has read from a file. namedFiles makes it.
type fileUse struct {
	text       string
	start, end int // of the text in the file; -1 where it is not a copy
	read       time.Time
}

// namedFiles returns the files that prompts of the run name and that it has not kept, as far
// as they are there. What a prompt names may come from anywhere, so only files below the
// folder of the flow are shown, and none that are hidden.
func (s *Server) namedFiles(ctx context.Context, run string, known *service.RunFiles) ([]namedFile, error) {
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), run)
	if err != nil || details.Unreadable != nil {
		return nil, err
	}
	uses := map[string][]fileUse{}
	for _, st := range details.State.Steps {
		prompts, err := s.options.Service.Prompts(ctx, details, st.ID)
		if err != nil {
			continue // a step without a prompt names no files
		}
		for _, e := range prompts.Explanations {
			addFileUses(details, e, uses)
		}
	}
	dir, err := calls.OpenRoot(filepath.Dir(known.Flow))
	if err != nil {
		return nil, nil // the folder is gone, and its files with it
	}
	defer dir.Close()
	var files []namedFile
	for _, path := range slices.Sorted(maps.Keys(uses)) {
		rel := path
		if filepath.IsAbs(path) {
			rel, err = filepath.Rel(filepath.Dir(known.Flow), path)
		}
		isShown := err == nil && filepath.IsLocal(rel) && !isHidden(rel)
		if _, isKept := known.Kept[path]; isKept || !isShown {
			continue
		}
		content, err := calls.ReadFileIn(dir, rel, maxShownFile)
		if err != nil {
			continue
		}
		info, err := dir.Stat(rel)
		isChanged := slices.ContainsFunc(uses[path], func(u fileUse) bool {
			return err != nil || info.ModTime().After(u.read) || !u.isIn(content)
		})
		files = append(files, namedFile{path, content, isChanged})
	}
	return files, nil
}

// isIn reports whether a file has the text at its place, as far as that is known. A text with the mask of a secret is not as
// it was read.
func (u fileUse) isIn(content []byte) bool {
	if u.start < 0 || strings.Contains(u.text, secret.Mask) {
		return true
	}
	return u.end <= len(content) && string(content[u.start:u.end]) == u.text
}

// isHidden reports whether a part of a path begins with a dot.
func isHidden(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && part != "." && part != ".."
	})
}

// addFileUses adds what the pieces of an explanation have from files that calls have read, by the paths of these.
func addFileUses(details *service.RunDetails, e *explain.Explanation, uses map[string][]fileUse) {
	for _, m := range e.Messages {
		for _, piece := range m.Pieces {
			for _, source := range piece.Sources {
				if source.Path == "" {
					continue
				}
				use := fileUse{text: piece.Text, start: -1, end: -1}
				if source.Start != nil && source.End != nil {
					use.start, use.end = *source.Start, *source.End
				}
				for _, id := range []string{source.Step, e.Step} {
					if st := details.State.Step(id); st != nil && use.read.IsZero() {
						use.read = st.StartedAt
					}
				}
				uses[source.Path] = append(uses[source.Path], use)
			}
		}
	}
}
