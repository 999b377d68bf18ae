package inchat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// A book as SillyTavern exports it. Everything that is in the chat is there because
// its keys occur, or because it is constant.
func TestLorebook(t *testing.T) {
	const head = `
history:
  - {role: user, content: "Long ago there was a dragon."}
  - {role: system, content: "the moon"}
  - {role: assistant, content: "Ella repairs a Clock. λόγος"}
  - {role: user, content: "在杭州做什么？ I had a notebook."}
world_books:
  name: World
  entries:
    "0": `
	entry := func(fields string) string {
		return "{uid: 0, selective: true, position: 4, content: X, " + fields + "}\n"
	}
	tests := []struct {
		name, entry string
		in          bool
		reason      string
	}{
		{"constant", entry(`constant: true, key: []`), true, "constant"},
		{"constant but disabled", entry(`constant: true, disable: true`), false, "disabled"},
		{"card that is not enabled", `{keys: [ella], insertion_order: 1, enabled: false, constant: true, content: X, position: after_char}` + "\n", false, "disabled"},
		{"card with extensions alone", `{keys: [dragon], content: X, enabled: true, extensions: {position: 4, depth: 1}}` + "\n", false, "found none of its keys"},
		{"a key in any case", entry(`key: [elf, ELLA]`), true, "found ELLA"},
		{"a key as one text", entry(`key: "elf, clock"`), true, "found clock"},
		{"a key in capitals of Greek", entry(`key: [ΛΌΓΟΣ], matchWholeWords: true`), true, "found ΛΌΓΟΣ"},
		{"case", entry(`key: [ella], caseSensitive: true`), false, "found none of its keys"},
		{"case that fits", entry(`key: [Ella], caseSensitive: true`), true, "found Ella"},
		{"no key", entry(`key: []`), false, "it is not constant and has no key"},
		{"blank key", entry(`key: ["", " "]`), false, "it is not constant and has no key"},
		{"beyond the scan depth", entry(`key: [dragon]`), false, "found none of its keys"},
		{"own scan depth", entry(`key: [dragon], scanDepth: 3`), true, "found dragon"},
		{"no scan", entry(`key: [ella], scanDepth: 0`), false, "found none of its keys"},
		{"system messages are not searched", entry(`key: [moon], scanDepth: 9`), false, "found none of its keys"},
		{"part of a word", entry(`key: [book]`), true, "found book"},
		{"whole words", entry(`key: [book], matchWholeWords: true`), false, "found none of its keys"},
		{"a whole word", entry(`key: [notebook], matchWholeWords: true`), true, "found notebook"},
		{"whole words in Chinese", entry(`key: [杭州], matchWholeWords: true`), true, "found 杭州"},
		{"several words", entry(`key: [a Clo], matchWholeWords: true`), true, "found a Clo"},
		{"and any", entry(`key: [ella], keysecondary: [x, clock], selectiveLogic: 0`), true, "found ella with its secondary keys"},
		{"and any, none", entry(`key: [ella], keysecondary: [x]`), false, "found ella, but 0 of 1 secondary keys (wants one)"},
		{"not all", entry(`key: [ella], keysecondary: [x, clock], selectiveLogic: 1`), true, "found ella with its secondary keys"},
		{"not all, all", entry(`key: [ella], keysecondary: [clock], selectiveLogic: 1`), false, "found ella, but 1 of 1 secondary keys (wants not all)"},
		{"not any", entry(`key: [ella], keysecondary: [x], selectiveLogic: 2`), true, "found ella with its secondary keys"},
		{"not any, one", entry(`key: [ella], keysecondary: [x, clock], selectiveLogic: 2`), false, "found ella, but 1 of 2 secondary keys (wants none)"},
		{"and all", entry(`key: [ella], keysecondary: [repairs, clock], selectiveLogic: 3`), true, "found ella with its secondary keys"},
		{"and all, one", entry(`key: [ella], keysecondary: [x, clock], selectiveLogic: 3`), false, "found ella, but 1 of 2 secondary keys (wants all)"},
		{"not selective", `{uid: 1, selective: false, position: 4, content: X, key: [ella], keysecondary: [x]}` + "\n", true, "found ella"},
		{"recursion flags", entry(`key: [ella], excludeRecursion: true, preventRecursion: true`), true, "found ella"},
		{"certain", entry(`key: [ella], probability: 100, useProbability: true`), true, "found ella"},
		{"no chance", entry(`key: [ella], probability: 20, useProbability: false`), true, "found ella"},
		{"chance", entry(`key: [ella], probability: 20`), false, "not evaluated: probability"},
		{"group", entry(`constant: true, group: weather`), false, "not evaluated: group"},
		{"several", entry(`key: [/ella/i], sticky: 2, vectorized: true`), false, "not evaluated: sticky, key (a regular expression)"},
		{"EJS", `{uid: 1, key: [ella], position: 4, content: "<% if (x) %>"}` + "\n", false, "not evaluated: content (EJS)"},
		{"decorators", `{uid: 1, key: [ella], position: 4, content: "@@activate\nX"}` + "\n", false, "not evaluated: content (decorators)"},
		{"outlet", `{uid: 1, key: [ella], position: 7, outletName: a, content: X}` + "\n", false, "not evaluated: position 7"},
		{"unknown", entry(`key: [ella], whatever: {a: 1}`), false, "not evaluated: whatever"},
		{"unknown but empty", entry(`key: [ella], whatever: null`), true, "found ella"},
		{"key by name", entry(`key: ["{{getvar::who}}"]`), true, "found Ella"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			contents, trace, warnings := summary(t, head+test.entry+"variables: {who: Ella}\n")
			if got := len(contents) == 5; got != test.in {
				t.Errorf("in: %v, messages %q", got, contents)
			}
			if got := trace[0][strings.Index(trace[0], ": ")+2:]; got != test.reason {
				t.Errorf("reason %q, want %q", got, test.reason)
			}
			isUnread := strings.HasPrefix(test.reason, "not evaluated")
			if len(warnings) > 0 != isUnread || isUnread && !strings.Contains(warnings[0], `world book "World"`) {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

// A character card's book: names of its own, SillyTavern's additions under extensions, positions outside of the
// chat.
func TestCharacterCard(t *testing.T) {
	out, err := run(t, inchat.Definition(), params(t, `
history: [{role: user, content: "Hi Ella"}]
world_books:
  spec: chara_card_v2
  data:
    name: Ella
    character_book:
      entries:
        - {keys: [hi], content: "{{char}} meets {{user}}.", insertion_order: 5, enabled: true, position: before_char, extensions: {}}
        - {keys: [], content: "Second.", insertion_order: 9, enabled: true, constant: true, position: before_char, extensions: {position: 0}}
        - {keys: [ella], content: "After.", insertion_order: 1, enabled: true, position: after_char}
        - {keys: [ella], content: "Deep.", insertion_order: 1, enabled: true, position: before_char, extensions: {position: 4, depth: 1, role: 2, group_weight: 100}}
variables: {character_name: Ella, user: Bob}
`), calls.NewEnv())
	if err != nil {
		t.Fatal(err)
	}
	slots, _ := out.Get("slots")
	if diff := cmp.Diff(`{"before_char":"Ella meets Bob.\nSecond.","after_char":"After."}`, slots.JSON()); diff != "" {
		t.Error(diff)
	}
	first, _ := out.At("/messages/0")
	if role, _ := first.Get("role"); role.JSON() != `"assistant"` {
		t.Errorf("got %s", first)
	}
	second, _ := out.At("/trace/1")
	if start, _ := second.Get("start"); start.JSON() != "16" {
		t.Errorf("trace %s", second)
	}
}

// Templates and the call context name the slots, so that they are there without entries too.
func TestEmptySlots(t *testing.T) {
	out, err := run(t, inchat.Definition(), params(t, "history: []"), nil)
	if err != nil {
		t.Fatal(err)
	}
	slots, _ := out.Get("slots")
	if diff := cmp.Diff(`{"before_char":"","after_char":""}`, slots.JSON()); diff != "" {
		t.Error(diff)
	}
}

// A value that its field does not allow leaves the entry out: the default may be the opposite of the intention.
// Lint and the run say so at the field.
func TestLorebookWrongValues(t *testing.T) {
	const base = "uid: 0, position: 4, content: X, key: [hi], "
	tests := []struct{ fields, pointer, fact string }{
		{base + `constant: "ture"`, "/constant", `constant is "ture", neither true nor false: the entry is left out (did you mean "true"?)`},
		{base + `disable: "no"`, "/disable", `disable is "no", neither true nor false: the entry is left out (write true or false)`},
		{base + `selective: []`, "/selective", `selective is [], neither true nor false: the entry is left out (write true or false)`},
		{base + `selectiveLogic: "and"`, "/selectiveLogic", `selectiveLogic is "and", not a number from 0 to 3: the entry is left out (0 is any of the secondary keys, 1 not all, 2 none, 3 all)`},
		{base + `selectiveLogic: 4`, "/selectiveLogic", `selectiveLogic is 4, not a number from 0 to 3: the entry is left out (0 is any of the secondary keys, 1 not all, 2 none, 3 all)`},
		{base + `depth: "x"`, "/depth", `depth is "x", not an integer: the entry is left out (write an integer)`},
		{base + `order: [1]`, "/order", `order is [1], not an integer: the entry is left out (write an integer)`},
		{base + `probability: "50%"`, "/probability", `probability is "50%", not an integer: the entry is left out (write an integer)`},
		{base + `role: boss`, "/role", `role is "boss", which is unknown: the entry is left out (known are system, user, assistant, 0, 1, 2)`},
		{base + `extensions: {scan_depth: many}`, "/extensions/scan_depth", `scan_depth is "many", not an integer: the entry is left out (write an integer)`},
		{base + `extensions: none`, "/extensions", `extensions is "none", not an object: the entry is left out (write {})`},
		{base + `keysecondary: true`, "/keysecondary", `keysecondary is true, not a list of texts: the entry is left out (write [one, two])`},
		{`uid: 0, content: X, key: [[hi]]`, "/key", `key is [["hi"]], not a list of texts: the entry is left out (write [one, two])`},
		{`uid: 0, content: 5, key: [hi]`, "/content", `content is 5, not text: the entry is left out (put quotes around it)`},
		{`uid: 0, content: X, key: [hi], position: befor_char`, "/position", `position is "befor_char", which is unknown: the entry is left out (did you mean "before_char"?)`},
		{base + `slective: false`, "/slective", `unknown field "slective": the entry is left out (did you mean "selective"?)`},
	}
	for _, test := range tests {
		with := "history: [{role: user, content: hi}]\nworld_books: {entries: {\"7\": {" + test.fields + "}}}\n"
		env, told := calls.NewEnv(), warnings{}
		env.Warner = &told
		out, err := run(t, inchat.Definition(), params(t, with), env)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := out.At("/trace/0/code"); code.JSON() != `"unread"` {
			t.Errorf("%s: code %s", test.fields, code)
		}
		at := "/world_books/entries/7" + test.pointer
		if !slices.ContainsFunc(told, func(w calls.Warning) bool {
			return w.Pointer == at && strings.HasSuffix(w.Text, ": "+test.fact)
		}) {
			t.Errorf("%s: warnings %+v", test.fields, told)
		}
		found := inchat.Definition().Lint(params(t, with), calls.LintEnv{})
		if len(found) == 0 || found[0].Error() != at+": "+test.fact {
			t.Errorf("%s: lint %v", test.fields, found)
		} else if zh := wording.OfError(found[0]).Zh; strings.Contains(zh, "write ") || strings.Contains(zh, " the ") {
			t.Errorf("in Chinese: %s", zh)
		}
	}
}

// Numbers and texts for flags and integers, as books in the wild have them, are fine.
func TestLorebookLooseValues(t *testing.T) {
	for _, fields := range []string{
		`constant: 1`, `constant: "TRUE", disable: 0`, `constant: true, disable: "false", enabled: "true"`, `constant: true, enabled: 1`,
		`key: hi, depth: "2", order: "100", role: "0", selectiveLogic: "0"`, `key: [hi, 5], role: User, probability: 100.0`,
		`key: [hi], caseSensitive: null, scanDepth: null, role: null, selective: null, extensions: []`, `key: [hi], slective: null`,
	} {
		_, trace, told := summary(t, "history: [{role: user, content: hi}]\nworld_books: [{uid: 0, position: 4, content: X, "+fields+"}]\n")
		if len(told) > 0 || strings.Contains(trace[0], "not evaluated") || strings.Contains(trace[0], "disabled") {
			t.Errorf("%s: %q, warnings %q", fields, trace, told)
		}
	}
}

// A book's own scan_depth that is not an integer is reported, at its place.
func TestLorebookWrongScanDepth(t *testing.T) {
	with := params(t, "history: []\nworld_books: {name: W, scan_depth: deep, entries: [{uid: 0, key: [a], content: x}]}\n")
	env, told := calls.NewEnv(), warnings{}
	env.Warner = &told
	if _, err := run(t, inchat.Definition(), with, env); err != nil {
		t.Fatal(err)
	}
	const fact = `scan_depth is "deep", not an integer: it does nothing`
	if len(told) != 1 || told[0].Pointer != "/world_books/scan_depth" || told[0].Text != `world book "W": `+fact {
		t.Errorf("got %+v", told)
	}
	found := inchat.Definition().Lint(with, calls.LintEnv{})
	if len(found) != 1 || found[0].Error() != "/world_books/scan_depth: "+fact+" (write an integer)" {
		t.Errorf("got %v", found)
	}
}

// A scan_depth of 0 searches no message; one that is not set, two.
func TestLorebookScanDepth(t *testing.T) {
	for depth, isIn := range map[string]bool{"0": false, "0.0": false, `"0"`: false, "1": true, "null": true, `""`: true} {
		with := params(t, "history: [{role: user, content: apple}]\nworld_books: {name: W, scan_depth: "+depth+", entries: [{uid: 0, key: [apple], content: PIE}]}\n")
		out, err := run(t, inchat.Definition(), with, calls.NewEnv())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.JSON(), "PIE"); got != isIn {
			t.Errorf("scan_depth: %s: in %t", depth, got)
		}
	}
}

// A misspelt field is reported once, at its place; other fields are counted for the book.
func TestLorebookMisspeltOnce(t *testing.T) {
	with := params(t, "history: []\nworld_books: {name: W, entries: [{uid: 0, key: [a], content: x, selectve: true, sticky: 3}]}\n")
	env, told := calls.NewEnv(), warnings{}
	env.Warner = &told
	if _, err := run(t, inchat.Definition(), with, env); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, w := range told {
		texts = append(texts, w.Text)
	}
	for _, p := range inchat.Definition().Lint(with, calls.LintEnv{}) {
		texts = append(texts, p.Error())
	}
	all := strings.Join(texts, "\n")
	if strings.Count(all, `field "selectve"`) != 2 || strings.Count(all, "sticky (1)") != 2 || strings.Contains(all, "selectve (1)") {
		t.Errorf("got %s", all)
	}
}

func TestLorebookLint(t *testing.T) {
	problems := inchat.Definition().Lint(params(t, `
history: []
world_books:
  - name: A
    entries: {"0": {uid: 0, key: [a], content: x, sticky: 3}, "1": {uid: 1, key: [], content: x}, "2": {uid: 2, key: [a], content: x, sticky: 1, depth: deep}}
  - name: B
    entries: [{uid: 0, key: [a], content: x}]
`), calls.LintEnv{})
	var got []string
	for _, p := range problems {
		if !p.Warning {
			t.Errorf("%v is not a warning", p)
		}
		got = append(got, p.Pointer+" "+p.Message)
	}
	want := []string{
		`/world_books/0/entries/2/depth depth is "deep", not an integer: the entry is left out`,
		`/world_books/0 entries of the world book "A" are left out, for these fields are not evaluated: sticky (2)`,
		`/world_books/0 1 entries of the world book "A" are never in: they are not constant and have no key`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Names that no variable gives stay as they are, and are reported once.
func TestLorebookWithoutNames(t *testing.T) {
	contents, _, warnings := summary(t, `
history: [{role: user, content: hi}]
world_books: [{uid: 1, key: [hi], position: 4, content: "{{char}} is here"}, {uid: 2, key: [hi], position: 4, content: "{{char}}, {{getvar::none}}."}]
`)
	if diff := cmp.Diff([]string{"{{char}} is here", "{{char}}, .", "hi"}, contents); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "character_name") {
		t.Errorf("warnings %q", warnings)
	}
}

// Around macros, the content of an entry is a copy; a macro names its variable.
func TestLorebookMacroOrigins(t *testing.T) {
	with := params(t, `
history: [{role: user, content: "Hi"}]
world_books:
  entries:
    "0": {uid: 0, position: 4, constant: true, order: 9, content: "{{user}} and {{char}}: {{getvar::mood.now}}{{newline}}{{getvar::count}}, {{random::{{user}}::{{char}}}}{{getvar::none}}!"}
    "1": {uid: 1, position: before_char, constant: true, content: "Plain."}
variables: {character_name: Ella, user: Bob, mood: {now: glad}, count: 7}
`)
	out, err := run(t, inchat.Definition(), with, calls.NewEnv())
	if err != nil {
		t.Fatal(err)
	}
	list, _ := out.Get("trace")
	var parts []calls.Part
	if err := value.Decode(list, &parts); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		for _, o := range p.Origins {
			stretch := p.Text[o.Start:o.End]
			line := o.Pointer
			if o.Size > 0 {
				source, _ := with.At(o.Pointer)
				text, _ := source.Str()
				line += " " + text[o.From:o.From+o.Size]
			}
			if o.Computed {
				line = "from " + line
			} else if source, _ := with.At(o.Pointer); !strings.HasPrefix(source.JSON()[1+o.From:], stretch) {
				t.Errorf("%q is not at %d of %s", stretch, o.From, source)
			}
			if o.Size > 0 && strings.Contains(line, "random") {
				stretch = "?"
			}
			if strings.HasPrefix(line, "from /variables") && o.Size == 0 && stretch != "7" {
				stretch = "?"
			}
			got = append(got, stretch+" < "+line)
		}
	}
	want := []string{
		"Bob < /variables/user", " and  < /world_books/entries/0/content", "Ella < /variables/character_name",
		":  < /world_books/entries/0/content", "glad < /variables/mood/now",
		"\n < from /world_books/entries/0/content {{newline}}", "7 < from /variables/count", ",  < /world_books/entries/0/content",
		"? < from /world_books/entries/0/content {{random::{{user}}::{{char}}}}", "? < from /variables/user", "? < from /variables/character_name",
		"! < /world_books/entries/0/content", "Plain. < /world_books/entries/1/content",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	origins := inchat.Definition().Origins(t.Context(), calls.Record{Params: with, Output: out}, "/output/messages/0/source/uid")
	if diff := cmp.Diff([]calls.Origin{{Pointer: "/world_books/entries/0/uid"}}, origins); diff != "" {
		t.Error(diff)
	}
}
