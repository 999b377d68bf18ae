package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// MissingError is why this machine cannot carry a run out though another one may: a plugin, a
// provider, a secret or a file is missing, or its program is too old. A [Service] makes it;
// it does not change.
type MissingError struct{ Reasons []error }

// Error lists the missing parts.
func (e *MissingError) Error() string { return e.In("en") }

// In is [MissingError.Error] in a language.
func (e *MissingError) In(language string) string {
	texts := make([]string, len(e.Reasons))
	for i, reason := range e.Reasons {
		texts[i] = wording.OfError(reason).In(language)
	}
	return strings.Join(texts, "; ")
}

// missingError returns the reasons as an error; nil if there are none.
func missingError(reasons []error) error {
	if len(reasons) == 0 {
		return nil
	}
	return &MissingError{reasons}
}

// CheckMachine returns a *[MissingError] if this machine lacks something that the run of a session needs and that
// preparing it has not checked. The needs of its child runs are for their machines.
func (s *Session) CheckMachine() error {
	var missing []error
	if older := s.olderHere(); older != nil {
		missing = append(missing, older)
	}
	return missingError(append(missing, s.missingParts()...))
}

// CheckParts is [Session.CheckMachine] for a machine whose program may be older, for example after an upgrade was taken back.
func (s *Session) CheckParts() error { return missingError(s.missingParts()) }

// missingParts returns the secrets and files that this machine lacks.
func (s *Session) missingParts() []error {
	f := s.Flow
	if s.executor.Elsewhere != nil {
		f = f.WithoutQueued()
	}
	return append(missingSecrets(f, s.executor.Secrets), missingFiles(f)...)
}

// CheckWorker returns a *[MissingError] if this machine, as a worker, lacks something that a flow needs. The needs
// of its child runs are for their machines.
func (s *Service) CheckWorker(f *flow.Flow) error {
	e, _, err := s.parts.Executor(f, ExecutorOptions{})
	if err != nil {
		return missingError([]error{err})
	}
	f = f.WithoutQueued()
	missing := missingSecrets(f, e.Secrets)
	return missingError(append(missing, missingFiles(f)...))
}

// QueueOfFile returns the queue that a flow names whose runs a worker carries out; "" for none, also if the file
// cannot be read.
func (s *Service) QueueOfFile(file string) string {
	loader, _, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return ""
	}
	f, _ := loader.ForSignatures().Load(file)
	return queueOf(f)
}

func queueOf(f *flow.Flow) string {
	if f == nil {
		return ""
	}
	return f.Queue
}

// QueueOfRun returns the queue that a run of other machines waits in for a worker; "" for the usual one, also if
// its flow cannot be read.
func (s *Service) QueueOfRun(ctx context.Context, info *journal.RunInfo) (string, error) {
	if parent := info.Labels[journal.LabelChildOf]; parent != "" {
		return s.queueOfChild(ctx, parent, info.ID)
	}
	_, header, began, err := s.begunRun(ctx, Principal{}, info.ID)
	if err != nil {
		return "", err
	}
	from := Surroundings{Dir: s.localDir(began.Dir), Language: began.Language}
	loader, _, err := s.parts.Loader(from)
	if err != nil {
		return "", err
	}
	file, files := scheduler.LocalFiles(from.Dir, header.File, header.Text)
	f, _ := loader.ForSignatures().LoadText(file, header.Text.Source, files)
	return queueOf(f), nil
}

// queueOfChild returns the queue that a run has given one that it waits for to.
func (s *Service) queueOfChild(ctx context.Context, parent, child string) (queue string, err error) {
	queues, err := s.QueuesOfChildren(ctx, parent)
	if calls.KindOf(err) == calls.NotFound { // it was deleted meanwhile
		return "", nil
	}
	return queues[child], err
}

// QueuesOfChildren returns the queues to which a run has given its child runs, by their ids.
func (s *Service) QueuesOfChildren(ctx context.Context, parent string) (map[string]string, error) {
	queues := map[string]string{}
	for e, err := range s.Events(ctx, Principal{}, parent, 1) {
		if err != nil {
			return nil, err
		}
		if e.Type == journal.StepChild {
			queues[e.Data.Child.Run] = e.Data.Child.Queue
		}
	}
	return queues, nil
}

// AsMissing returns an error of preparing a run as a *[MissingError], unless the journal failed or the run does
// not exist.
func AsMissing(err error) error {
	var unavailable *UnavailableError
	var missing *MissingError
	isOther := errors.As(err, &unavailable) || errors.As(err, &missing)
	if err == nil || isOther || errors.Is(err, ErrNoJournal) || calls.KindOf(err) == calls.NotFound {
		return err
	}
	return &MissingError{[]error{err}}
}

func missingSecrets(f *flow.Flow, lookup func(string) (string, bool)) (missing []error) {
	if lookup == nil {
		return nil
	}
	for _, name := range f.SecretNames() {
		if _, ok := lookup(name); !ok {
			missing = append(missing, wording.Errorf("the secret %s is not set, or not allowed by the setting secrets", name))
		}
	}
	return missing
}

func missingFiles(f *flow.Flow) (missing []error) {
	for _, used := range f.UsedFiles() {
		if _, err := os.Stat(used.Path); err != nil {
			missing = append(missing, wording.Errorf("the step %s reads %s, which is not there", used.Step, used.Path))
		}
	}
	return missing
}

// FilesElsewhere returns a warning for each file that a flow reads while it runs and that is
// outside of the project: other machines may not have it.
func (s *Service) FilesElsewhere(f *flow.Flow) (notes []Note) {
	root := s.projectDir()
	for _, used := range f.UsedFiles() {
		rel, err := filepath.Rel(root, flow.Absolute(used.Path))
		if err == nil && filepath.IsLocal(rel) {
			continue
		}
		n := newWarning("the step %s reads %s, which other machines may not have (put it into the folder of the project)", used.Step, used.Path)
		n.Source = used.Pos.String()
		notes = append(notes, n)
	}
	return notes
}

// olderHere returns an error if the program here is older than one that has written events of the run, which it may not understand: the one
// that began it, or any that continued it.
func (s *Session) olderHere() error {
	if err := olderProgram(s.executor.Program, s.program); err != nil {
		return err
	}
	for _, stretch := range s.State.Stretches {
		if err := olderProgram(s.executor.Program, stretch.Version); err != nil {
			return err
		}
	}
	return nil
}

// olderProgram returns an error if this program is older than the one that began or continued a run. Versions that
// are not numbers cannot be compared.
func olderProgram(here, began string) error {
	a, okA := parseVersion(here)
	b, okB := parseVersion(began)
	if !okA || !okB {
		return nil
	}
	for i := range a {
		if a[i] != b[i] {
			if a[i] > b[i] {
				return nil
			}
			return wording.Errorf("the run was carried out by the version %s of the program, and this is %s", began, here)
		}
	}
	return nil
}

// parseVersion reads v1.2.3, with anything after it.
func parseVersion(text string) (numbers [3]int, ok bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "-")
	text, _, _ = strings.Cut(text, "+")
	parts := strings.Split(text, ".")
	if len(parts) != len(numbers) {
		return numbers, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return numbers, false
		}
		numbers[i] = n
	}
	return numbers, true
}
