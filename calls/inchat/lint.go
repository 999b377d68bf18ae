package inchat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// lintParams finds problems of entries that are written in the flow, or in a file that it
// names: conditions that cannot be read, depths and orders that are not
// integers, fields and values that look misspelt. All of that is a warning, for the call
// runs all the same. An importance function that cannot be asked is an error, and so are a
// condition without a mode and a message of the history that ends the call.
func lintParams(params value.Value, env calls.LintEnv) []schema.Problem {
	var found []schema.Problem
	for _, name := range []string{"presets_in_chat", "world_books"} {
		entries, _ := params.Get(name)
		found = lintEntries(found, entries, "/"+name, env.Registry)
	}
	books, _ := params.Get("world_books")
	return slices.Concat(lintHistory(params), lintMisspelt(params), found, lintLorebooks(books))
}

// lintHistory finds the first message that would end the call. The result of a template is not known, and null
// here.
func lintHistory(params value.Value) []schema.Problem {
	history, _ := params.Get("history")
	for i, v := range history.List() {
		pointer := "/history/" + strconv.Itoa(i)
		role, has := v.Get("role")
		if has {
			pointer += "/role"
		}
		if isUnknown := v.IsNull() || has && role.IsNull(); isUnknown {
			continue
		}
		if _, err := readMessage(v, i); err != nil {
			return []schema.Problem{calls.ProblemOf(pointer, err)}
		}
	}
	return nil
}

// lintLorebooks finds, for each book of another program, the entries that are never
// in: because of fields that are not evaluated, or because they have no key.
func lintLorebooks(books value.Value) (found []schema.Problem) {
	read := readBooks(books, "/world_books")
	for _, e := range read.entries {
		if !e.isLore() || isLoreOff(e.v.Map()) {
			continue
		}
		e.book.countUnread(e.v.Map(), unreadFields(e.v.Map()))
		if isTrue(loreField(e.v.Map(), loreConstant...)) {
			continue
		}
		if len(texts(loreField(e.v.Map(), loreKeys...))) == 0 {
			e.book.keyless++
		}
		if isTrue(loreField(e.v.Map(), "vectorized")) {
			e.book.similar++
		}
	}
	for _, book := range read.books {
		if book.wrongDepth != "" {
			found = append(found, schema.Problem{Pointer: book.pointer + "/scan_depth", Warning: true}.
				WithMessage("%s", book.wrongDepthText()).WithHint("write an integer"))
		}
		for _, text := range book.notes() {
			found = append(found, schema.Problem{Pointer: book.pointer, Warning: true}.
				WithMessage("world book %q: %s", value.Truncate(book.name, 80), text))
		}
		if text := book.unreadText(); text.En != "" {
			found = append(found, schema.Problem{
				Pointer: book.pointer, Warning: true, Hint: "write these entries with mode and condition",
			}.WithMessage("entries of the world book %q are left out, for these fields are not evaluated: %s", value.Truncate(book.name, 80), text))
		}
		if book.keyless > 0 {
			found = append(found, schema.Problem{Pointer: book.pointer, Warning: true}.
				WithMessage("%d entries of the world book %q are never in: they are not constant and have no key", book.keyless, value.Truncate(book.name, 80)))
		}
	}
	return found
}

// lintEntries looks for entries at any depth: objects with a content.
func lintEntries(found []schema.Problem, v value.Value, at string, registry *calls.Registry) []schema.Problem {
	for i, item := range v.List() {
		found = lintEntries(found, item, at+"/"+strconv.Itoa(i), registry)
	}
	if _, ok := v.Get("content"); ok {
		return append(found, lintEntry(v.Map(), at, registry)...)
	}
	for key, member := range v.Map().All() {
		found = lintEntries(found, member, at+"/"+value.Escape(key), registry)
	}
	return found
}

func lintEntry(entry *value.Map, at string, registry *calls.Registry) (found []schema.Problem) {
	if isLore(entry) {
		return nil
	}
	warn := func(field, format string, args ...any) {
		found = append(found, schema.Problem{Pointer: at + "/" + field, Warning: true}.WithMessage(format, args...))
	}
	for _, field := range []string{"depth", "order"} {
		if _, ok := intField(entry, field, 0); !ok {
			warn(field, "not an integer, so the entry is left out")
		}
	}
	given, _ := entry.Get("condition")
	if mode, _ := entry.Get("mode"); mode.JSON() != `"conditional"` {
		if hasLostCondition(entry) {
			found = append(found, schema.Problem{Pointer: at + "/condition"}.
				WithMessage("a condition without mode does nothing: the entry is always in").WithHint("add mode: conditional, or take the condition out"))
		}
		return found
	}
	text := conditionText(given)
	if strings.TrimSpace(text) == "" {
		warn("condition", "a conditional entry without a condition is never in")
		found[len(found)-1] = found[len(found)-1].WithHint("mode: always puts it in")
		return found
	}
	parsed := macro.Parse(text)
	for _, message := range parsed.Errors() {
		warn("condition", "%s; the condition is never true", message)
	}
	for _, message := range parsed.Warnings() {
		warn("condition", "%s", message)
	}
	names, _ := parsed.Functions()
	for _, name := range names {
		if err := registry.CheckImportance(name); err != nil {
			found = append(found, calls.ProblemOf(at+"/condition", err))
		}
	}
	return found
}

// lintMisspelt finds fields and values that look misspelt in entries that are known.
func lintMisspelt(params value.Value) (found []schema.Problem) {
	var finder misspellingFinder
	look := func(kind string, entry *value.Map, pointer string, lore bool) {
		for _, m := range finder.findMisspellings(kind, entry, lore) {
			p := schema.Problem{Pointer: pointer + m.pointer, Warning: true}
			if m.code == codeUnknownField {
				p.Keyword = schema.UnknownKeyword // the problem is the key
			}
			found = append(found, p.WithMessage("%s", m.message).WithHint("%s", m.hint))
		}
	}
	presets, _ := params.Get("presets_in_chat")
	for i, v := range presets.List() {
		look(kindPreset, v.Map(), "/presets_in_chat/"+strconv.Itoa(i), isLore(v.Map()))
	}
	books, _ := params.Get("world_books")
	for _, e := range readBooks(books, "/world_books").entries {
		look(kindWorldBook, e.v.Map(), e.pointer, e.isLore())
	}
	return found
}
