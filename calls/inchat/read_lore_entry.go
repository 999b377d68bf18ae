package inchat

import (
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Defaults of SillyTavern.
const (
	loreOrder     = 100
	loreDepth     = 4
	loreScanDepth = 2
)

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
		keys: texts(loreField(c.entry, loreKeys...)), constant: isTrue(loreField(c.entry, loreConstant...)),
		patterns: isTrue(loreField(c.entry, "use_regex", "useRegex")), widening: wideningFields(c.entry),
		caseSensitive: isTrue(loreField(c.entry, "caseSensitive")), wholeWords: isTrue(loreField(c.entry, "matchWholeWords")),
	}
	if isTrue(loreField(c.entry, "vectorized")) && !c.lore.constant {
		c.book.similar++
	}
	if isTrue(loreField(c.entry, "selective")) {
		c.lore.secondary = texts(loreField(c.entry, loreSecondary...))
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

// readLorePlace reads the place of the entry.
func (b *builder) readLorePlace(c *candidate) {
	c.depth, c.order = loreDepth, loreOrder
	if order, ok := macro.Int(loreField(c.entry, "order", "insertion_order", "insertorder")); ok {
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

// The fields of the same thing, as the programs name it: SillyTavern, cards, RisuAI.
var (
	loreKeys      = []string{"key", "keys"}
	loreSecondary = []string{"keysecondary", "secondary_keys", "secondkey"}
	loreConstant  = []string{"constant", "alwaysActive"}
)

// wideningFields lists the fields of loreWidening that an entry sets.
func wideningFields(entry *value.Map) (set []wording.Text) {
	for _, name := range loreWidening {
		if isTrue(loreField(entry, name)) {
			set = append(set, wording.Same(name))
		}
	}
	return set
}

// regexKey is a key that SillyTavern takes as a regular expression.
var regexKey = regexp.MustCompile(`^/.+/[gimsuy]*$`)

// unreadFields lists the fields that keep an entry from being evaluated, as the entry spells them.
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
	if chance, ok := macro.Int(loreField(entry, "activationPercent")); ok && chance < 100 {
		unread = append(unread, wording.Same("activationPercent"))
	}
	keys := texts(loreField(entry, loreKeys...))
	if isTrue(loreField(entry, "selective")) {
		keys = append(keys, texts(loreField(entry, loreSecondary...))...)
	}
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

// isUnknownLore reports whether a field is unknown in lorebooks and may change the prompt: it has a value, or
// turns off a field of nearly its name.
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
