package server

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/service"
)

// maxShownFile bounds a file that is shown, in bytes.
const maxShownFile = 4 << 20

// namedFile is the present state of a file.
type namedFile struct {
	path      string
	content   []byte
	isChanged bool // since the run read it, or it may be
}

// namedFiles returns the files that prompts of the run name and that it has not kept, as far as they exist. The
// names may come from anywhere, so only files below the folder of the flow are shown, and no hidden ones. For
// example, ../secrets.env and .git/config are never shown.
func (s *Server) namedFiles(ctx context.Context, run string, known *service.RunFiles) ([]namedFile, error) {
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), run)
	if err != nil || details.Unreadable != nil {
		return nil, err
	}
	uses := s.options.Service.FileUses(ctx, details)
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
		isChanged := slices.ContainsFunc(uses[path], func(u service.FileUse) bool {
			return err != nil || info.ModTime().After(u.Read) || !u.IsIn(content)
		})
		files = append(files, namedFile{path, content, isChanged})
	}
	return files, nil
}

// isHidden reports whether a part of a path begins with a dot.
func isHidden(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && part != "." && part != ".."
	})
}
