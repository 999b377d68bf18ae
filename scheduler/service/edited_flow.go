package service

import (
	"context"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
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
	f, problems := loader.Parse(file, []byte(text))
	return f, problems, nil
}

// LintText returns the problems of a text that is to become the file, and the flow where
// there is no error among them. readFile reads the files that the text names; nil reads any file of the machine.
func (s *Service) LintText(file, text string, readFile func(path string) ([]byte, error)) (*flow.Flow, flow.Problems, error) {
	loader, _, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return nil, nil, err
	}
	loader.ReadFile = readFile
	f, problems := loader.Parse(file, []byte(text))
	return f, problems, nil
}

// RunFiles are the files that a run has kept, with its flow. [Service.Files] makes them for its caller.
type RunFiles struct {
	// Flow is the path of the flow file, and Kept has it and the others by their paths as they are on this machine.
	Flow string
	Kept map[string][]byte
	// Until has the last event for which the run had that text of a file, where its flow was edited later.
	Until map[string]int64
}

// Files returns the files that a run had for the event seq. For 0 they are those that it has now, with those of a flow that
// was edited where no other has the path.
func (s *Service) Files(ctx context.Context, p Principal, run string, seq int64) (*RunFiles, error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return nil, err
	}
	files := &RunFiles{Kept: map[string][]byte{}, Until: map[string]int64{}}
	until := int64(0)
	for text := &header.Text; text != nil; text = text.Before {
		if isOf := seq == 0 || seq >= text.Since; isOf {
			files.add(s.localDir(began.Dir), header.File, text, until)
			if seq > 0 {
				break
			}
		}
		until = text.Since - 1
	}
	return files, nil
}

// add adds the files of a text, where none has the path.
func (f *RunFiles) add(dir, recorded string, text *journal.FlowText, until int64) {
	path, kept := scheduler.LocalFiles(dir, recorded, *text)
	kept[path] = text.Source
	if f.Flow == "" {
		f.Flow = path
	}
	for path, content := range kept {
		if _, isKnown := f.Kept[path]; isKnown {
			continue
		}
		f.Kept[path] = content
		if until > 0 {
			f.Until[path] = until
		}
	}
}
