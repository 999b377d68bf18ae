package replay

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// placedError is an error at a JSON pointer in the text being read.
type placedError struct {
	pointer string
	error
}

func (e *placedError) Unwrap() error { return e.error }

// placeWithin returns err, with the message around, for a value at a pointer of something larger.
func placeWithin(pointer string, err, message error) error {
	var inner *placedError
	if errors.As(err, &inner) {
		pointer += inner.pointer
	}
	return &placedError{pointer, message}
}

// parseCassette reads a file of either version. Errors begin with line:col.
func parseCassette(src []byte) (*cassette, error) {
	root, err := yaml.ParseWithin(src, limits())
	if err != nil {
		return nil, err
	}
	if root == nil {
		return &cassette{}, nil
	}
	v, err := yaml.Value(root)
	if err != nil {
		return nil, err
	}
	c, err := parseRoot(v)
	if err == nil {
		return c, nil
	}
	at := root
	var placed *placedError
	if errors.As(err, &placed) {
		node, key, _ := yaml.Walk(root, placed.pointer)
		at = cmp.Or(key, node)
	}
	return nil, wording.Errorf("%d:%d: %w", at.Line, at.Column, err)
}

// parseRoot reads the value of a file.
func parseRoot(v value.Value) (*cassette, error) {
	c := &cassette{}
	if v.IsNull() {
		return c, nil
	}
	names := []string{"scheduler", "runs", "recordings"}
	got, _ := v.Get("scheduler")
	switch {
	case value.Equal(got, value.OfString(format1)):
		names = []string{"scheduler", "recordings"}
	case v.Kind() == value.Object && !value.Equal(got, value.OfString(format)):
		return nil, placeWithin("/scheduler", nil, wording.Errorf("unknown format of a cassette: scheduler is %s, want %s", got, format))
	}
	if err := checkMembers(v, names...); err != nil {
		return nil, err
	}
	var err error
	c.runs, err = parseRuns(v)
	if err != nil {
		return nil, err
	}
	c.recordings, err = parseRecordings(v, "")
	return c, err
}

// parseList returns a member that is a list, or missing; pointer is the place of v.
func parseList(v value.Value, pointer, name string) ([]value.Value, error) {
	list, _ := v.Get(name)
	if list.Kind() != value.List && !list.IsNull() {
		return nil, placeWithin(pointer+"/"+name, nil, wording.Errorf("%s/%s: want an array, got %s", pointer, name, list.Kind()))
	}
	return list.List(), nil
}

func parseRuns(v value.Value) (runs []*recordedRun, err error) {
	list, err := parseList(v, "", "runs")
	for i, item := range list {
		run := &recordedRun{}
		if err := run.decode(item); err != nil {
			return nil, placeWithin(fmt.Sprintf("/runs/%d", i), err, wording.Errorf("/runs/%d: %w", i, err))
		}
		run.recordings, err = parseRecordings(item, fmt.Sprintf("/runs/%d", i))
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, err
}

// parseRecordings reads the recordings of v, which is at pointer.
func parseRecordings(v value.Value, pointer string) (recordings []recording, err error) {
	list, err := parseList(v, pointer, "recordings")
	for i, item := range list {
		r, err := parseRecording(item)
		if err != nil {
			return nil, placeWithin(fmt.Sprintf("%s/recordings/%d", pointer, i), err, wording.Errorf("%s/recordings/%d: %w", pointer, i, err))
		}
		recordings = append(recordings, r)
	}
	return recordings, err
}

func parseRecording(item value.Value) (recording, error) {
	var r recording
	if err := checkMembers(item, "key", "kind", "name", "step", "part", "request", "deltas", "response", "answer", "error", "take", "ms", "vectors"); err != nil {
		return r, err
	}
	if err := r.readTexts(item); err != nil {
		return r, err
	}
	if err := r.readNumbers(item); err != nil {
		return r, err
	}
	r.request, _ = item.Get("request")
	if r.kind == KindModel {
		if err := checkMembers(r.request, "model", "messages", "tools", "schema", "temperature", "max_tokens", "extra", "dimensions", "texts"); err != nil {
			return r, placeWithin("/request", err, wording.Errorf("request: %w", err))
		}
	}
	r.key = keyOf(r.request)
	if key, ok := item.Get("key"); ok && !value.Equal(key, value.OfString(r.key)) {
		return r, wording.Errorf("the key is not that of the request, which was changed: delete the key to make it fit")
	}
	return r, r.readAnswer(item)
}

// readTexts reads kind, name and step.
func (r *recording) readTexts(item value.Value) error {
	r.kind = KindModel
	for _, member := range []struct {
		name string
		to   *string
	}{{"kind", &r.kind}, {"name", &r.name}, {"step", &r.step}} {
		v, has := item.Get(member.name)
		text, isText := v.Str()
		if has && (!isText || text == "") {
			return wording.Errorf("%s: want a text, got %s", member.name, v)
		}
		if has {
			*member.to = text
		}
	}
	return nil
}

// readAnswer reads the answer, in one of its forms.
func (r *recording) readAnswer(item value.Value) error {
	forms := 0
	for _, name := range []string{"deltas", "response", "vectors", "answer"} {
		if _, ok := item.Get(name); ok {
			forms++
		}
	}
	failed, hasFailed := item.Get("error")
	if hasFailed {
		r.failure = &failure{}
		if err := value.Decode(failed, r.failure); err != nil {
			return wording.Errorf("error: %w", err)
		}
	}
	answer, isAnswer := item.Get("answer")
	isModel := r.kind == KindModel
	switch {
	case isModel == isAnswer || hasFailed && !isModel:
		return wording.Errorf("want response, deltas or vectors for a model, and answer for other kinds")
	case forms > 1 || forms == 0 && !hasFailed:
		return wording.Errorf("want either deltas or response")
	case isAnswer:
		r.answer = answer
		return nil
	}
	if vectors, ok := item.Get("vectors"); ok {
		var err error
		r.vectors, err = decodeVectors(vectors)
		return err
	}
	pieces, isStreamed := item.Get("deltas")
	if response, ok := item.Get("response"); ok {
		pieces, isStreamed = value.OfList(response), true
	}
	if isStreamed && pieces.Kind() != value.List {
		return wording.Errorf("deltas: want an array, got %s", pieces.Kind())
	}
	for _, piece := range pieces.List() {
		d, err := decodeDelta(piece)
		if err != nil {
			return wording.Errorf("deltas: %w", err)
		}
		r.deltas = append(r.deltas, d)
	}
	return nil
}

// readNumbers reads take, part and ms.
func (r *recording) readNumbers(item value.Value) error {
	r.take = 1
	if v, ok := item.Get("part"); ok {
		n, isInt := v.Int()
		if !isInt || n < 0 {
			return wording.Errorf("part: want a number from 0, got %s", v)
		}
		r.part = int(n)
	}
	if v, ok := item.Get("take"); ok {
		n, isInt := v.Int()
		if !isInt || n < 1 {
			return wording.Errorf("take: want a number from 1, got %s", v)
		}
		r.take = int(n)
	}
	if v, ok := item.Get("ms"); ok {
		n, isInt := v.Int()
		if !isInt || n < 0 {
			return wording.Errorf("ms: want whole milliseconds, got %s", v)
		}
		r.ms = &n
	}
	return nil
}

// checkMembers refuses a value that is not an object, or has members of other names.
func checkMembers(v value.Value, names ...string) error {
	if v.Kind() != value.Object {
		return wording.Errorf("want an object, got %s", v.Kind())
	}
	known := value.NewMap(len(names))
	for _, name := range names {
		known.Set(name, value.Value{})
	}
	for name := range v.Map().All() {
		if _, ok := known.Get(name); !ok {
			return placeWithin("/"+value.Escape(name), nil, wording.Errorf("unknown member %q, known are %s", name, strings.Join(names, ", ")))
		}
	}
	return nil
}
