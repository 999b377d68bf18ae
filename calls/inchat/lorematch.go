package inchat

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat/keyword"
	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// evaluateLore decides about the entries of other programs' lorebooks by their keys, and expands the macros in the
// contents of the included ones.
func (b *builder) evaluateLore(ctx context.Context, in Input) error {
	m := &loreMatcher{in: in, expander: newLoreExpander(b.env, in.Variables), scans: map[int64]*scan{}}
	for i := range b.candidates {
		if c := &b.candidates[i]; c.lore != nil && !c.out && !c.lore.constant {
			m.addWords(ctx, c)
		}
	}
	for _, s := range m.scans {
		s.found = keyword.Find(s.text, s.words)
		s.foundLower = keyword.Find(s.lower, s.wordsLower)
	}
	for i := range b.candidates {
		c := &b.candidates[i]
		if c.lore == nil || c.out {
			continue
		}
		if !c.lore.constant {
			m.decide(c)
		}
		if !c.out {
			m.expander.expandContent(ctx, c)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	m.expander.warn(b)
	return nil
}

// loreMatcher searches keys in the newest messages. It serves one evaluation.
type loreMatcher struct {
	in       Input
	expander *loreExpander
	scans    map[int64]*scan // by depth
}

// scan is the text of some newest messages with the words that are searched in it.
type scan struct {
	text, lower       string
	words, wordsLower []string
	found, foundLower map[string]bool
}

// scanOf returns the scan of an entry: as deep as the entry, else the parameter, else its
// book, else SillyTavern's default.
func (m *loreMatcher) scanOf(c *candidate) *scan {
	depth := int64(loreScanDepth)
	if c.book.scanDepth != nil {
		depth = *c.book.scanDepth
	}
	if m.in.ScanDepth != nil {
		depth = int64(*m.in.ScanDepth)
	}
	if c.lore.scanDepth != nil {
		depth = *c.lore.scanDepth
	}
	if s := m.scans[depth]; s != nil {
		return s
	}
	s := &scan{text: loreText(m.in, depth)}
	s.lower = prompt.Lower(s.text)
	m.scans[depth] = s
	return s
}

// loreText returns the text of the newest depth messages of user and assistant, newest
// first. The variable chat_history_text takes its place.
func loreText(in Input, depth int64) string {
	if given, ok := in.Variables.Get(macro.HistoryVar); ok {
		return plainText(given)
	}
	var texts []string
	for _, v := range slices.Backward(in.History.List()) {
		if int64(len(texts)) >= depth {
			break
		}
		role, _ := v.Get("role")
		content, _ := v.Get("content")
		text, isText := textOf(content)
		if isText && slices.Contains([]string{"user", "assistant"}, strings.ToLower(plainText(role))) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// addWords expands the keys of an entry and has them searched.
func (m *loreMatcher) addWords(ctx context.Context, c *candidate) {
	s := m.scanOf(c)
	for _, list := range [][]string{c.lore.keys, c.lore.secondary} {
		for i, key := range list {
			list[i] = strings.TrimSpace(m.expander.expand(ctx, key).Text)
			if c.lore.caseSensitive {
				s.words = append(s.words, list[i])
			} else {
				s.wordsLower = append(s.wordsLower, prompt.Lower(list[i]))
			}
		}
	}
}

// decide decides about one entry by its keys.
func (m *loreMatcher) decide(c *candidate) {
	s := m.scanOf(c)
	at := slices.IndexFunc(c.lore.keys, func(key string) bool { return s.has(key, c.lore) })
	if unread := s.disagrees(c.lore, at >= 0); len(unread) > 0 {
		c.book.countUnread(c.entry, unread)
		c.leaveOut("not evaluated: %s", wording.Join(unread, ", ", "、"))
		c.code = codeUnread
		return
	}
	if at < 0 {
		c.leaveOut("found none of its keys")
		c.code = codeNoKey
		return
	}
	c.reason, c.code = wording.Say("found %s", value.Truncate(c.lore.keys[at], 80)), codeKey
	if len(c.lore.secondary) == 0 {
		return
	}
	count := 0
	for _, key := range c.lore.secondary {
		if s.has(key, c.lore) {
			count++
		}
	}
	all := len(c.lore.secondary)
	holds, wanted := false, ""
	switch c.lore.logic {
	case andAny:
		holds, wanted = count > 0, "one"
	case notAll:
		holds, wanted = count < all, "not all"
	case notAny:
		holds, wanted = count == 0, "none"
	case andAll:
		holds, wanted = count == all, "all"
	}
	c.code = codeSecondary
	if !holds {
		c.leaveOut("%s, but %d of %d secondary keys (wants %s)", c.reason, count, all, wording.Of(wanted))
		return
	}
	c.reason = wording.Say("%s with its secondary keys", c.reason)
}

// has reports whether a key occurs.
func (s *scan) has(key string, e *loreEntry) bool {
	text, found := s.lower, s.foundLower
	if e.caseSensitive {
		text, found = s.text, s.found
	} else {
		key = prompt.Lower(key)
	}
	if key == "" || !found[key] {
		return false
	}
	isSingleWord := strings.IndexFunc(key, unicode.IsSpace) < 0
	return !e.wholeWords || !isSingleWord || hasWord(text, key)
}

// disagrees lists the fields because of which another program could decide otherwise than the search for the keys
// as they are written did: fields that widen the search, for an entry that is not found, and use_regex with a key
// such as "mar(ket|sh)" that says another thing as a regular expression. SillyTavern sets use_regex on every entry
// that it exports, and uses only a key in slashes as an expression.
func (s *scan) disagrees(e *loreEntry, found bool) []wording.Text {
	if !found && len(e.widening) > 0 {
		return e.widening
	}
	if !e.patterns {
		return nil
	}
	byPattern := slices.ContainsFunc(e.keys, func(key string) bool {
		pattern, err := regexp.Compile("(?i)" + key)
		isPlain := err != nil || regexp.QuoteMeta(key) == key
		return isPlain && s.has(key, e) || !isPlain && pattern.MatchString(s.text)
	})
	if byPattern == found {
		return nil
	}
	return []wording.Text{wording.Same("use_regex")}
}

// hasWord reports whether a word occurs with no letter, digit or underscore of ASCII
// beside it. Characters of other scripts do not count as letters, so that it finds
// words of languages without spaces.
func hasWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !isWordRune(before) && !isWordRune(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		at = start + size
	}
}

func isWordRune(r rune) bool {
	if r >= utf8.RuneSelf {
		return false
	}
	return r == '_' || unicode.IsDigit(r) || unicode.IsLetter(r)
}

// loreExpander expands the macros of lorebooks: names, variables and chance.
type loreExpander struct {
	machine *macro.Machine
	vars    *value.Map
	known   []string
	// pointers are the pointers of the variables that are given by another name.
	pointers map[string]string
	// missing are the macros of names that no variable has, by the variable.
	missing map[string]int
}

// nameMacros are the macros that print a name, by the variables that give it.
var nameMacros = map[string]string{"user": "user_name", "char": "character_name"}

func newLoreExpander(env *calls.Env, variables value.Value) *loreExpander {
	e := &loreExpander{
		machine: &macro.Machine{Now: env.Clock(), Rand: env.Rand, UndefinedIsEmpty: true, WithSpans: true},
		vars:    variables.Map(), missing: map[string]int{}, pointers: map[string]string{},
		known: []string{"getvar", "getglobalvar", "random", "pick", "roll", "newline", "//"},
	}
	for name, variable := range nameMacros {
		if _, ok := e.vars.Get(variable); ok {
			e.known = append(e.known, name)
			continue
		}
		if v, ok := e.vars.Get(name); ok {
			e.vars = e.vars.Clone()
			e.vars.Set(variable, v)
			e.pointers[macro.Pointer(variable)] = macro.Pointer(name)
			e.known = append(e.known, name)
		}
	}
	return e
}

// expand replaces the macros of a text that are known. A name that no variable has stays
// as it is written.
func (e *loreExpander) expand(ctx context.Context, text string) (got macro.Result) {
	if !strings.Contains(text, "{{") && !strings.Contains(text, "<<") {
		return macro.Result{Text: text}
	}
	lower := strings.ToLower(text)
	for name, variable := range nameMacros {
		if !slices.Contains(e.known, name) && strings.Contains(lower, "{{"+name+"}}") {
			e.missing[variable]++
		}
	}
	got, err := e.machine.Expand(ctx, macro.ParseOnly(text, e.known), macro.NewVars(e.vars))
	if err != nil || len(got.Errors) > 0 {
		return macro.Result{Text: text}
	}
	return got
}

// expandContent expands the content of an entry.
func (e *loreExpander) expandContent(ctx context.Context, c *candidate) {
	got := e.expand(ctx, c.content)
	c.content = got.Text
	for _, span := range got.Spans {
		c.expanded = append(c.expanded, e.spanOrigins(c, span)...)
	}
}

// spanOrigins returns the origins of a stretch of the expanded content: the content, the variable that a macro
// printed, or the macro and all variables that it has read.
func (e *loreExpander) spanOrigins(c *candidate, span macro.Span) []calls.Origin {
	content := calls.Origin{Start: span.Start, End: span.End, Pointer: c.pointer + "/content", From: span.SourceStart}
	if !span.IsMacro {
		return []calls.Origin{content}
	}
	content.Computed, content.Size = true, span.SourceEnd-span.SourceStart
	origins := []calls.Origin{content}
	for _, path := range span.Variables {
		pointer := macro.Pointer(path)
		if given, ok := e.pointers[pointer]; ok {
			pointer = given
		}
		origins = append(origins, calls.Origin{Start: span.Start, End: span.End, Pointer: "/variables" + pointer, Computed: true})
	}
	if span.IsVariable {
		origins = origins[len(origins)-1:]
		v, _ := macro.NewVars(e.vars).Get(span.Variables[len(span.Variables)-1])
		origins[0].Computed = v.Kind() != value.String
	}
	return origins
}

// warn reports the names that are missing.
func (e *loreExpander) warn(b *builder) {
	for _, name := range []string{"user", "char"} {
		variable := nameMacros[name]
		if count := e.missing[variable]; count > 0 {
			b.warn("{{%s}} stays as it is in %d texts of world books: give variables: {%s: ...}", name, count, variable)
		}
	}
}
