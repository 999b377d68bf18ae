package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/linediff"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Miss is the error of a request that is not recorded: it shows the nearest recording, and the first place at
// which both differ.
type Miss struct {
	// Kind and Step are the receiver and the step of the request.
	Kind, Step string
	// Pointer is the place in the request at which it differs first from the nearest recording, such as /messages/0/content;
	// Offset is the byte of the text there. "" for a cassette that has nothing to compare with.
	Pointer string
	Offset  int

	text wording.Text
	hint string
}

// Error names the missing recording.
func (m *Miss) Error() string { return m.text.En }

// In is Error in a language.
func (m *Miss) In(language string) string { return m.text.In(language) }

// Unwrap returns the error for the engine: a request that was not sent, and that is not tried again.
func (m *Miss) Unwrap() error { return &llm.Error{Hint: m.hint, Unsent: true} }

// FirstDifference returns Step, Pointer and Offset.
func (m *Miss) FirstDifference() (step, pointer string, offset int) {
	return m.Step, m.Pointer, m.Offset
}

// missError returns the error of a request that the run has no recording of.
func (r *Run) missError(asked *recording) *Miss {
	c := r.cassette
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []numbered
	if r.recorded != nil {
		all = numberAll(r.recorded.recordings, 1+slices.Index(c.file.runs, r.recorded))
	} else {
		for i, run := range c.file.runs {
			all = append(all, numberAll(run.recordings, i+1)...)
		}
	}
	all = append(all, numberAll(c.file.recordings, 0)...)
	m := describeMiss(all, c.options.Path, c.options.ShownPath, asked)
	if text, ok := asked.request.At(m.Pointer); ok && m.Offset > 0 { // as events have it
		whole, _ := text.Str()
		m.Offset = len(strings.ReplaceAll(r.places.showText(whole[:m.Offset]), mask, secret.Mask))
	}
	m.hint = c.options.Hint
	if m.hint == "" {
		m.hint = "record it: run once with --record and a provider that can answer"
	}
	m.addReason(r.reasonLocked())
	return m
}

// CheckStart returns an error for a run that plays nothing: no run with its inputs, for its user, is recorded. Its
// time and random numbers would not be recorded either. The exceptions are recordings outside of runs, for example
// ones written by hand: they are for runs with any inputs.
func (r *Run) CheckStart() error {
	c := r.cassette
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.recorded != nil || len(c.file.runs) == 0 || len(c.file.recordings) > 0 {
		return nil
	}
	var users []string
	for _, run := range c.file.runs {
		switch {
		case run.Inputs == r.wanted.Inputs:
			users = append(users, run.User)
		case r.wanted.InputsAlone != "" && run.Inputs == r.wanted.InputsAlone:
			return wording.Errorf("no run with these inputs is recorded in %s: the one that is has no conversation before it", c.options.ShownPath)
		}
	}
	if len(users) == 0 {
		return wording.Errorf("no run with these inputs is recorded in %s: other inputs, or another conversation before them, are", c.options.ShownPath)
	}
	slices.Sort(users)
	return wording.Errorf("no run with these inputs is recorded for the user %q in %s: the user is another one there (%s)",
		r.wanted.User, c.options.ShownPath, quoteAll(slices.Compact(users)))
}

// quoteAll returns texts in quotes, with commas between them.
func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = strconv.Quote(text)
	}
	return strings.Join(quoted, ", ")
}

// reasonLocked returns why the run may ask something that was not recorded.
func (r *Run) reasonLocked() wording.Text {
	switch {
	case len(r.cassette.file.runs) == 0:
		return wording.Text{}
	case r.recorded == nil:
		return wording.Say("no run with these inputs is recorded")
	case !r.header.IsEnded:
		return wording.Say("the recorded run did not finish")
	case r.wanted.Flow != "" && r.header.Flow != r.wanted.Flow:
		return wording.Say("the flow was edited after the run was recorded")
	}
	return wording.Text{}
}

func (m *Miss) addReason(why wording.Text) {
	if why.En != "" {
		m.text = wording.Join([]wording.Text{m.text, why}, "\n", "\n")
	}
}

// numbered is a recording with its place in the file, for messages.
type numbered struct {
	*recording
	run, index int // from 1; run is 0 for one that belongs to no run
}

func numberAll(recordings []recording, run int) []numbered {
	all := make([]numbered, len(recordings))
	for i := range recordings {
		all[i] = numbered{&recordings[i], run, i + 1}
	}
	return all
}

// place returns which recording of the file it is.
func (n numbered) place() wording.Text {
	if n.run == 0 {
		return wording.Say("recording %d", n.index)
	}
	return wording.Say("recording %d of run %d", n.index, n.run)
}

// describeMiss returns the error of a request that is not recorded: the recorded request that is nearest to it,
// and the differences. path is the path of the cassette, shown its name in messages.
func describeMiss(all []numbered, path, shown string, asked *recording) *Miss {
	m := &Miss{Kind: asked.kind, Step: asked.step}
	lines := requestLines(asked.request)
	subject := asked.subject()
	near := nearestRecording(all, asked, lines)
	if near == nil {
		switch _, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			m.text = wording.Say("no recording of %s in %s, and there is no such file; the request was:\n%s", subject, shown, showLines(nil, lines))
		case len(all) == 0:
			m.text = wording.Say("no recording of %s in %s, which is empty; the request was:\n%s", subject, shown, showLines(nil, lines))
		default:
			m.text = wording.Say("no recording of %s in %s, which has none of its kind; the request was:\n%s", subject, shown, showLines(nil, lines))
		}
		return m
	}
	m.Pointer, m.Offset = firstDifference(near.request, asked.request, "")
	m.text = wording.Say("no recording of %s in %s; the nearest is %s (- recorded, + asked):\n%s",
		subject, shown, near.place(), showLines(requestLines(near.request), lines))
	return m
}

// subject names a request in messages.
func (r *recording) subject() wording.Text {
	if r.kind == KindModel {
		return wording.Say("this request")
	}
	name := r.kind
	if r.name != "" {
		name += " " + r.name
	}
	return wording.Say("this request to %s", name)
}

// showLines returns the differences between recorded lines and asked ones.
func showLines(recorded, asked []string) string {
	return strings.TrimRight(linediff.Show(recorded, asked), "\n")
}

// requestLines returns a request as the cassette shows it, cut into lines.
func requestLines(request value.Value) []string {
	return strings.Split(strings.TrimSuffix(string(yaml.Append(nil, request)), "\n"), "\n")
}

// nearestRecording returns the recording of the same kind whose request shares the largest part of all lines with
// the asked one; of equals one of the same step. It returns nil if there is none of the kind.
func nearestRecording(all []numbered, asked *recording, lines []string) *numbered {
	var best *numbered
	bestScore := -1.0
	for i := range all {
		if all[i].kind != asked.kind {
			continue
		}
		score := likeness(requestLines(all[i].request), lines)
		if all[i].step != "" && all[i].step == asked.step {
			score += 1e-6
		}
		if score > bestScore {
			best, bestScore = &all[i], score
		}
	}
	return best
}

// likeness returns the share of lines that two requests have in common.
func likeness(recorded, asked []string) float64 {
	count := make(map[string]int, len(recorded))
	for _, line := range recorded {
		count[line]++
	}
	common := 0
	for _, line := range asked {
		if count[line] > 0 {
			count[line]--
			common++
		}
	}
	return float64(2*common) / float64(len(recorded)+len(asked))
}

// firstDifference returns the JSON pointer of the first place in asked that differs from recorded, and for two texts the
// first byte that differs.
func firstDifference(recorded, asked value.Value, pointer string) (place string, offset int) {
	if a, b := recorded, asked; a.Kind() == b.Kind() {
		switch b.Kind() {
		case value.List:
			return firstDifferenceInLists(a.List(), b.List(), pointer)
		case value.Object:
			for name, member := range b.Map().All() {
				other, has := a.Get(name)
				if !has || !value.Equal(other, member) {
					return firstDifference(other, member, pointer+"/"+escapePointer(name))
				}
			}
			return pointer, 0 // it has less
		case value.String:
			x, _ := a.Str()
			y, _ := b.Str()
			return pointer, commonPrefix(x, y)
		}
	}
	return pointer, 0
}

func firstDifferenceInLists(recorded, asked []value.Value, pointer string) (place string, offset int) {
	for i, item := range asked {
		if i >= len(recorded) {
			return fmt.Sprintf("%s/%d", pointer, i), 0
		}
		if !value.Equal(recorded[i], item) {
			return firstDifference(recorded[i], item, fmt.Sprintf("%s/%d", pointer, i))
		}
	}
	return pointer, 0
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// maxText is how long a text of a request to others than models may be; a longer one is recorded as its digest.
const maxText = 64 << 10

// boundTexts returns a request with digests in place of long texts and of pictures.
func boundTexts(v value.Value) value.Value {
	return mapStrings(digestImages(v), func(text string) string {
		if len(text) <= maxText {
			return text
		}
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("%d bytes;sha256,%s", len(text), hex.EncodeToString(sum[:]))
	})
}
