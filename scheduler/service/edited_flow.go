package service

import (
	"context"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
)

// LoadEditedText reads an edited flow for a run from its text; the files that it names are
// found beside the flow that the run began with.
func (s *Service) LoadEditedText(ctx context.Context, p Principal, run, text string) (*flow.Flow, flow.Problems, error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return nil, nil, err
	}
	dir := s.localDir(began.Dir)
	loader, _, err := s.parts.Loader(Surroundings{Dir: dir, Language: began.Language})
	if err != nil {
		return nil, nil, err
	}
	file, _ := scheduler.LocalFiles(dir, header.File, header.Text)
	return parseText(loader, file, text)
}

// LintText returns the problems of a text that is to become the file, and the flow where
// there is no error among them.
func (s *Service) LintText(file, text string) (*flow.Flow, flow.Problems, error) {
	loader, _, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return nil, nil, err
	}
	return parseText(loader, file, text)
}

func parseText(loader *flow.Loader, file, text string) (*flow.Flow, flow.Problems, error) {
	f, problems := loader.Parse(file, []byte(text))
	if problems.HasErrors() {
		f = nil
	}
	return f, problems, nil
}

// Files returns the path of the flow file of a run and all files that it has kept, by their
// paths as they are on this machine; those too of a flow that was edited, where no other has the path.
func (s *Service) Files(ctx context.Context, p Principal, run string) (file string, kept map[string][]byte, err error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return "", nil, err
	}
	file, kept = scheduler.LocalFiles(s.localDir(began.Dir), header.File, header.Text)
	kept[file] = header.Text.Source
	for text := header.Text.Before; text != nil; text = text.Before {
		earlier, files := scheduler.LocalFiles(s.localDir(began.Dir), header.File, *text)
		files[earlier] = text.Source
		for path, content := range files {
			if _, isKnown := kept[path]; !isKnown {
				kept[path] = content
			}
		}
	}
	return file, kept, nil
}
