package inchat_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/llm/value"
)

// The vectors have, for every message, the source that the original program recorded: the place in the history, or
// all fields of the entry. The parts of this call must name exactly these.
func TestSourcesOfVectors(t *testing.T) {
	def := inchat.Definition()
	checked := map[string]int{}
	rows := vectors(t, "../../test/vectors/inchat.jsonl")
	cases := map[string]bool{}
	for _, row := range rows {
		id := member(row, "id")
		recorded, ok := row.At("/response/messages")
		if !ok || different[id] != "" {
			continue
		}
		request, _ := row.Get("request")
		got, err := run(t, def, request, nil)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		named := originsByMessage(t, got)
		used := map[string]bool{}
		for i, m := range recorded.List() {
			source, _ := m.Get("source")
			content := member(m, "content")
			if content == "" {
				continue
			}
			origin, ok := named[i]
			base, isContent := strings.CutSuffix(origin.Pointer, "/content")
			entry, found := request.At(base)
			if !ok || !isContent || !found || used[base] {
				t.Errorf("%s: message %d is from %q", id, i, origin.Pointer)
				continue
			}
			used[base], cases[id] = true, true
			kind, _, _ := strings.Cut(member(source, "type"), ".")
			checked[kind]++
			if kind == "history" {
				if index, _ := source.Get("index"); base != "/history/"+index.JSON() {
					t.Errorf("%s: message %d is from %s, recorded: %s", id, i, base, source)
				}
				continue
			}
			checkEntry(t, id+" message "+strconv.Itoa(i), entry, source)
		}
	}
	for kind, least := range map[string]int{"history": 400, "preset": 100, "world_book": 100} {
		if checked[kind] < least {
			t.Errorf("only %d messages of the kind %s were checked", checked[kind], kind)
		}
	}
	if 3*len(cases) < len(rows) {
		t.Errorf("%d of %d vectors have expected sources", len(cases), len(rows))
	}
	t.Logf("checked %v in %d of %d vectors", checked, len(cases), len(rows))
}

// originsByMessage returns the origin of each message of an output.
func originsByMessage(t *testing.T, output value.Value) map[int]calls.Origin {
	t.Helper()
	named := map[int]calls.Origin{}
	for _, list := range []string{"parts", "trace"} {
		v, _ := output.Get(list)
		var parts []calls.Part
		if err := value.Decode(v, &parts); err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if !p.Included || p.Message == nil || len(p.Origins) == 0 {
				continue
			}
			if len(p.Origins) != 1 || p.Origins[0].Start != 0 || p.Origins[0].End != p.End-p.Start {
				t.Errorf("the part %+v", p)
			}
			named[*p.Message] = p.Origins[0]
		}
	}
	return named
}

// checkEntry fails if a field of the entry differs from the recorded source.
func checkEntry(t *testing.T, name string, entry, source value.Value) {
	t.Helper()
	for key, v := range entry.Map().All() {
		recorded, _ := source.Get(key)
		if key == "id" || key == "wb_id" || key == "type" { // the source has its own of these
			continue
		}
		if !value.Equal(v, recorded) {
			t.Errorf("%s: %s of the entry is %s, recorded: %s", name, key, v, recorded)
		}
	}
}

// The fields in the source of a message come from the entry, even if other values are equal: a variable that its
// content has, or another field that gets the same name.
func TestOriginsOfSource(t *testing.T) {
	def := inchat.Definition()
	with := params(t, `
history: []
presets_in_chat: [{position: in-chat, content: same, identifier: same, type: same, n: {deep: [same]}}]
world_books:
  - {uid: same, position: 4, constant: true, order: 9, content: "{{getvar::content}}"}
  - {position: user, mode: always, wb_id: same, id: same, content: same}
  - {position: user, mode: always, id: same, wb_id: same, "a/b": same, content: same}
  - {position: user, mode: always, content: same, no_role: same}
variables: {content: same, uid: same}
`)
	out, err := run(t, def, with, calls.NewEnv())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	list, _ := out.Get("messages")
	for i := range list.List() {
		for _, field := range []string{"identifier", "type", "id", "n/deep/0", "uid", "wb_id", "a~1b", "no_role", "role"} {
			pointer := "/messages/" + strconv.Itoa(i) + "/source/" + field
			if v, ok := out.At(pointer); !ok || v.IsNull() {
				continue
			}
			line := field
			for _, o := range def.Origins(t.Context(), calls.Record{Params: with, Output: out}, "/output"+pointer) {
				line += " < " + o.Pointer
			}
			got = append(got, line)
		}
	}
	want := []string{
		"type", "id", "uid < /world_books/0/uid", "role",
		"identifier < /presets_in_chat/0/identifier", "type < /presets_in_chat/0/type", "id", "n/deep/0 < /presets_in_chat/0/n/deep/0",
		"type", "id", "wb_id < /world_books/1/id", "role",
		"type", "id", "wb_id < /world_books/2/wb_id", "a~1b < /world_books/2/a~1b", "role",
		"type", "id", "no_role < /world_books/3/no_role", "role",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
