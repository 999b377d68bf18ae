package inchat

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// loreEntry is what an entry of a SillyTavern lorebook, or of a character card's
// book, has beside a native entry. readLore creates it; it lives as long as its
// candidate.
type loreEntry struct {
	keys, secondary []string
	logic           int64 // one of the selective logics
	constant        bool
	caseSensitive   bool
	wholeWords      bool
	scanDepth       *int64
}

// The logics of secondary keys, as selectiveLogic numbers them. All want one of the
// primary keys first.
const (
	andAny = iota // at least one secondary key occurs
	notAll        // at least one does not occur
	notAny        // none occurs
	andAll        // all occur
)

// Defaults of SillyTavern.
const (
	loreOrder     = 100
	loreDepth     = 4
	loreScanDepth = 2
)

// slots are the places outside of the chat, by the names and numbers that entries
// give them as position.
var slots = map[string]string{"before_char": "before_char", "after_char": "after_char", "0": "before_char", "1": "after_char"}

// loreMarkers are fields that only lorebooks of other programs have.
var loreMarkers = []string{
	"uid", "key", "keysecondary", "selective", "selectiveLogic", "constant", "disable", "insertion_order", "secondary_keys",
	"useProbability", "use_regex", "vectorized", "extensions", "addMemo", "alwaysActive", "insertorder", "secondkey",
}

// isLore reports whether an entry is one of another program's lorebook. Entries with
// mode or condition are native.
func isLore(entry *value.Map) bool {
	for _, own := range []string{"mode", "condition"} {
		if _, ok := entry.Get(own); ok {
			return false
		}
	}
	return slices.ContainsFunc(loreMarkers, func(name string) bool {
		_, ok := entry.Get(name)
		return ok
	})
}

// loreFields are the fields that are evaluated, or that cannot change the prompt as
// long as keys are searched in the chat only and there are no groups.
var loreFields = []string{
	"uid", "id", "key", "keys", "keysecondary", "secondary_keys", "selective", "selectiveLogic", "constant", "disable", "enabled",
	"content", "comment", "name", "memo", "addMemo", "order", "insertion_order", "priority", "position", "depth", "role",
	"caseSensitive", "case_sensitive", "matchWholeWords", "scanDepth", "ignoreBudget", "ignore_budget", "excludeRecursion", "preventRecursion",
	"displayIndex", "automationId", "probability", "useProbability", "groupWeight", "groupOverride", "useGroupScoring", "outletName",
	"extensions", "hash", "world", "token_count", "characterFilterNames", "characterFilterTags", "characterFilterExclude",
}

// loreUnread are the fields of lorebooks that would change the prompt, and are not
// evaluated: an entry that sets one is left out. Cards have them, in either spelling,
// under extensions.
var loreUnread = []string{
	"group", "sticky", "cooldown", "delay", "delayUntilRecursion", "vectorized", "use_regex", "characterFilter", "triggers",
	"matchPersonaDescription", "matchCharacterDescription", "matchCharacterPersonality", "matchCharacterDepthPrompt",
	"matchScenario", "matchCreatorNotes",
}

// loreField returns a field of an entry, or of its extensions, by its name or its
// spelling with underscores; null where it has none.
func loreField(entry *value.Map, names ...string) value.Value {
	_, v := loreMember(entry, names...)
	return v
}

// loreMember is loreField with the JSON pointer into the entry.
func loreMember(entry *value.Map, names ...string) (pointer string, v value.Value) {
	extensions, _ := entry.Get("extensions")
	for _, level := range []struct {
		pointer string
		fields  *value.Map
	}{{"/", entry}, {"/extensions/", extensions.Map()}} {
		for _, name := range names {
			for _, spelling := range []string{name, snakeCase(name)} {
				if v, _ := level.fields.Get(spelling); !v.IsNull() {
					return level.pointer + spelling, v
				}
			}
		}
	}
	return "", value.Value{}
}

// snakeCase is scan_depth for scanDepth.
func snakeCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isTrue reports whether a flag is set; null is not.
func isTrue(v value.Value) bool {
	text, isText := v.Str()
	if isText {
		return strings.EqualFold(text, "true") || text == "1"
	}
	return !isEmpty(v)
}

// isLoreOff reports whether an entry is turned off.
func isLoreOff(entry *value.Map) bool {
	enabled, _ := entry.Get("enabled")
	text, isText := enabled.Str()
	isOff := isFlag(enabled) && !isTrue(enabled)
	isUnset := isText && text == ""
	return isOff && !isUnset || isTrue(loreField(entry, "disable"))
}

// readLore reads an entry of another program's lorebook, as SillyTavern evaluates it.
func (b *builder) readLore(c *candidate) {
	if isLoreOff(c.entry) {
		c.leaveOut("disabled")
		c.code = codeDisabled
		return
	}
	content, _ := c.entry.Get("content")
	c.content, _ = content.Str()
	isText := content.Kind() == value.String || content.IsNull()
	if isText && strings.TrimSpace(c.content) == "" {
		c.leaveOut("the content is empty")
		c.code = codeEmpty
		return
	}
	unread := unreadFields(c.entry)
	c.book.countUnread(c.entry, unread)
	for _, wrong := range wrongLoreValues(c.entry) {
		unread = append(unread, wrong.message)
	}
	if len(unread) > 0 {
		c.leaveOut("not evaluated: %s", wording.Join(unread, ", ", "、"))
		c.code = codeUnread
		return
	}
	b.readLorePlace(c)
	c.lore = &loreEntry{
		keys: texts(loreField(c.entry, "key", "keys")), constant: isTrue(loreField(c.entry, "constant")),
		caseSensitive: isTrue(loreField(c.entry, "caseSensitive")), wholeWords: isTrue(loreField(c.entry, "matchWholeWords")),
	}
	if selective := loreField(c.entry, "selective"); selective.IsNull() || isTrue(selective) {
		c.lore.secondary = texts(loreField(c.entry, "keysecondary", "secondary_keys"))
		c.lore.logic, _ = macro.Int(loreField(c.entry, "selectiveLogic"))
	}
	if depth, ok := macro.Int(loreField(c.entry, "scanDepth")); ok {
		c.lore.scanDepth = &depth
	}
	if c.lore.constant {
		c.reason, c.code = wording.Say("constant"), codeConstant
	} else if len(c.lore.keys) == 0 {
		c.leaveOut("it is not constant and has no key")
		c.code = codeNoKey
	}
}

// readLorePlace reads where the entry goes.
func (b *builder) readLorePlace(c *candidate) {
	c.depth, c.order = loreDepth, loreOrder
	if order, ok := macro.Int(loreField(c.entry, "order", "insertion_order")); ok {
		c.order = order
	}
	if depth, ok := macro.Int(loreField(c.entry, "depth")); ok {
		c.depth = depth
	}
	position := lorePosition(c.entry)
	c.slot = slots[position]
	switch position {
	case "user", "assistant":
		c.role = position
	default:
		role := strings.ToLower(plainText(loreField(c.entry, "role")))
		c.role = map[string]string{"1": "user", "user": "user", "2": "assistant", "assistant": "assistant"}[role]
		if c.role == "" {
			c.role = "system"
		}
	}
}

// lorePosition returns the position of an entry as text: its name or its number.
func lorePosition(entry *value.Map) string {
	_, position := lorePositionMember(entry)
	if position.IsNull() {
		return "0"
	}
	return placeText(position)
}

// lorePositionMember returns the position of an entry with the JSON pointer into it. Cards
// have a name, and the number of SillyTavern under extensions, which counts.
func lorePositionMember(entry *value.Map) (pointer string, v value.Value) {
	extensions, _ := entry.Get("extensions")
	if position, _ := extensions.Get("position"); !position.IsNull() {
		return "/extensions/position", position
	}
	v, _ = entry.Get("position")
	return "/position", v
}

func placeText(position value.Value) string {
	return strings.ToLower(strings.TrimSpace(plainText(position)))
}

// regexKey is a key that SillyTavern takes as a regular expression.
var regexKey = regexp.MustCompile(`^/.+/[gimsuy]*$`)

// unreadFields lists what keeps an entry from being evaluated, with the fields as
// the entry spells them.
func unreadFields(entry *value.Map) (unread []wording.Text) {
	for _, name := range loreUnread {
		if v := loreField(entry, name); isSetField(name, v) {
			unread = append(unread, wording.Same(name))
		}
	}
	if chance, ok := macro.Int(loreField(entry, "probability")); ok && chance < 100 {
		if use := loreField(entry, "useProbability"); use.IsNull() || isTrue(use) {
			unread = append(unread, wording.Same("probability"))
		}
	}
	position := lorePosition(entry)
	if slices.Contains(lorePlaces, position) && !slices.Contains(lorePlacesRead, position) {
		unread = append(unread, wording.Same("position "+position))
	}
	keys := slices.Concat(texts(loreField(entry, "key", "keys")), texts(loreField(entry, "keysecondary", "secondary_keys")))
	if slices.ContainsFunc(keys, regexKey.MatchString) {
		unread = append(unread, wording.Of("key (a regular expression)"))
	}
	content, _ := entry.Get("content")
	text, _ := content.Str()
	if strings.HasPrefix(strings.TrimSpace(text), "@@") {
		unread = append(unread, wording.Of("content (decorators)"))
	}
	if strings.Contains(text, "<%") {
		unread = append(unread, wording.Of("content (EJS)"))
	}
	for name, v := range entry.All() {
		if isUnknownLore(name, v) {
			unread = append(unread, wording.Same(name))
		}
	}
	return unread
}

// isUnknownLore reports whether a field is none of lorebooks and may change the prompt: it has
// a value, or turns off what is nearly its name.
func isUnknownLore(field string, v value.Value) bool {
	if knownFields[field] || v.IsNull() {
		return false
	}
	return !isEmpty(v) || value.Nearest(field, loreOffFields) != ""
}

// loreOffFields are the fields in which false or 0 is not the default.
var loreOffFields = []string{
	"enabled", "selective", "useProbability", "probability", "depth", "scanDepth", "order", "insertion_order",
}

// isSetField reports whether a field that is not evaluated would have an effect.
func isSetField(name string, v value.Value) bool {
	if name == "characterFilter" {
		names, _ := v.Get("names")
		tags, _ := v.Get("tags")
		return len(names.List())+len(tags.List()) > 0
	}
	if isTrue(v) {
		return true
	}
	text, isText := v.Str()
	isOff := text == "" || strings.EqualFold(text, "false") || text == "0"
	return isText && !isOff
}

// texts returns a list of keys: a list, or a text with commas; blanks are dropped.
func texts(v value.Value) (keys []string) {
	items := v.List()
	if text, ok := v.Str(); ok {
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, value.OfString(item))
		}
	}
	for _, item := range items {
		if item.IsNull() {
			continue
		}
		if key := strings.TrimSpace(plainText(item)); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// warnUnread reports, once for each book, the entries that are left out because
// they are not understood, and a scan_depth that is not.
func (b *builder) warnUnread(books []*book) {
	for _, book := range books {
		if book.wrongDepth != "" {
			b.warnOf(calls.Warning{Code: codeUnknownValue, Pointer: book.pointer + "/scan_depth"}, "world book %q: %s",
				value.Truncate(book.name, 80), book.wrongDepthText())
		}
		if text := book.unreadText(); text.En != "" {
			b.warn("world book %q: entries are left out because these fields are not evaluated: %s", value.Truncate(book.name, 80), text)
		}
	}
}

// wrongDepthText describes what a wrong scan_depth does.
func (b *book) wrongDepthText() wording.Text {
	return wording.Say("scan_depth is %s, not an integer: it does nothing", b.wrongDepth)
}

// unreadText lists the fields that are not evaluated with the number of entries; it is empty
// where there are none.
func (b *book) unreadText() wording.Text {
	fields := make([]wording.Text, 0, len(b.unread))
	for field, count := range b.unread {
		fields = append(fields, wording.Say("%s (%s)", field, strconv.Itoa(count)))
	}
	slices.SortFunc(fields, func(a, b wording.Text) int { return strings.Compare(a.En, b.En) })
	return wording.Join(fields, ", ", "、")
}
