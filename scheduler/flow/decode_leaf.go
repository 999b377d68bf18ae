package flow

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

type (
	textKey struct {
		keyPlace
		text string
	}
	// proseKey is a text that may have several lines.
	proseKey struct {
		keyPlace
		text string
	}
	namesKey struct {
		keyPlace
		names []textKey
	}
	// providersKey is the name of a model provider, or a list of them.
	providersKey struct {
		keyPlace
		names []textKey
	}
	// anyKey is a value that is compiled or read later.
	anyKey  struct{ keyPlace }
	boolKey struct {
		keyPlace
		is bool
	}
	countKey struct {
		keyPlace
		n int
	}
	numberKey struct {
		keyPlace
		x float64
	}
	durationKey struct {
		keyPlace
		d time.Duration
	}
)

func (k *textKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	n := yaml.Resolve(at.node)
	if n.Kind != yaml.Scalar || n.ShortTag() != "!!str" {
		d.reportMismatch(at, nameOf(tag, at), say("a text"))
		return
	}
	if !d.checkName(at.node, nameOf(tag, at), n.Value) {
		return
	}
	if enum, ok := tag.Lookup("enum"); ok && !slices.Contains(strings.Split(enum, "|"), n.Value) {
		words := strings.Split(enum, "|")
		p := d.add(d.positionOf(at.node), "%s is %s, not %q", nameOf(tag, at), wording.Text{En: strings.Join(words, " or "), Zh: strings.Join(words, " 或 ")}, n.Value)
		if near := value.Nearest(n.Value, words); near != "" {
			p.hint("did you mean %q?", near)
		}
		return
	}
	*k = textKey{at, n.Value}
	if pattern, ok := tag.Lookup("pattern"); ok && !keyPattern(pattern).MatchString(n.Value) {
		d.add(d.positionOf(at.node), "the %s %q does not fit", nameOf(tag, at), n.Value).
			hint("it is made of letters, digits and _, and begins with a letter%s", lowerOnly(pattern))
	}
}

func (k *proseKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	n := yaml.Resolve(at.node)
	if n.Kind != yaml.Scalar || n.ShortTag() != "!!str" {
		d.reportMismatch(at, nameOf(tag, at), say("a text"))
		return
	}
	for line := range strings.Lines(n.Value) {
		if !d.checkName(at.node, nameOf(tag, at), strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", " ")) {
			return
		}
	}
	*k = proseKey{at, n.Value}
}

// checkName refuses characters that cannot be seen in a text of one line that is shown to
// people, and reports whether there are none.
func (d *decoder) checkName(at *yaml.Node, what, name string) bool {
	r, hidden := value.InvisibleInName(name)
	if hidden {
		d.add(d.positionOf(at), "%s %q has the invisible character %U", say(what), value.Truncate(name, 60), r).hint("take it out")
	}
	return !hidden
}

// lowerOnly adds to the hint about a pattern the particular rule for ids.
func lowerOnly(pattern string) wording.Text {
	if strings.Contains(pattern, "A-Z") {
		return wording.Text{}
	}
	return say("; all in lower case")
}

func nameOf(tag reflect.StructTag, at keyPlace) string {
	if name, _, _ := strings.Cut(tag.Get("json"), ","); name != "" {
		return name
	}
	return at.key.Value
}

var keyPatterns sync.Map // string -> *regexp.Regexp

func keyPattern(pattern string) *regexp.Regexp {
	if re, ok := keyPatterns.Load(pattern); ok {
		return re.(*regexp.Regexp)
	}
	re, _ := keyPatterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	return re.(*regexp.Regexp)
}

func (k *namesKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	n := yaml.Resolve(at.node)
	if n.Kind != yaml.Sequence {
		d.reportMismatch(at, nameOf(tag, at), say("a list of step ids, such as [a, b]"))
		return
	}
	k.keyPlace = at
	for _, c := range n.Content {
		var name textKey
		name.decode(d, keyPlace{at.key, c}, `json:"an entry of needs"`)
		if name.isSet() {
			k.names = append(k.names, name)
		}
	}
}

func (k *providersKey) decode(d *decoder, at keyPlace, _ reflect.StructTag) {
	n := yaml.Resolve(at.node)
	list := []*yaml.Node{at.node}
	switch {
	case n.Kind == yaml.Sequence && len(n.Content) == 0:
		d.add(d.positionOf(at.node), "llm names no provider").hint("leave it out, or name one")
		return
	case n.Kind == yaml.Sequence:
		list = n.Content
	case n.ShortTag() != "!!str":
		d.reportMismatch(at, "llm", say("the name of a provider, or a list of names"))
		return
	}
	k.keyPlace = at
	for _, c := range list {
		var name textKey
		name.decode(d, keyPlace{at.key, c}, `json:"llm"`)
		if name.isSet() {
			k.names = append(k.names, name)
		}
	}
}

// texts returns the names.
func (k *providersKey) texts() (names []string) {
	for _, name := range k.names {
		names = append(names, name.text)
	}
	return names
}

func (k *anyKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	n := yaml.Resolve(at.node)
	if d.reportUnquoted(at.node) {
		return
	}
	if types, ok := tag.Lookup("type"); ok && n.Style&yaml.Tagged == 0 {
		if have := nodeType(n); !slices.Contains(strings.Split(types, "|"), have) {
			d.reportMismatch(at, nameOf(tag, at), wantedTypes(types))
			return
		}
	}
	k.keyPlace = at
}

// nodeType returns the JSON type of an untagged node.
func nodeType(n *yaml.Node) string {
	switch n.Kind {
	case yaml.Mapping:
		return "object"
	case yaml.Sequence:
		return "array"
	}
	switch n.ShortTag() {
	case "!!bool":
		return "boolean"
	case "!!int", "!!float":
		return "number"
	case "!!null":
		return "null"
	}
	return "string"
}

func wantedTypes(types string) wording.Text {
	words := map[string]wording.Text{"object": say("a map"), "array": say("a list"), "string": say("a text"), "boolean": say("true or false")}
	list := []wording.Text{}
	for name := range strings.SplitSeq(types, "|") {
		list = append(list, words[name])
	}
	return wording.Join(list, " or ", "或")
}

func (k *boolKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	if v, err := yaml.Value(at.node); err == nil {
		if is, ok := v.Bool(); ok {
			*k = boolKey{at, is}
			return
		}
	}
	d.reportMismatch(at, nameOf(tag, at), say("true or false"))
}

func (k *countKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	if v, err := yaml.Value(at.node); err == nil {
		if n, ok := v.Int(); ok && n >= 1 && n <= 1<<31-1 {
			*k = countKey{at, int(n)}
			return
		}
	}
	d.reportMismatch(at, nameOf(tag, at), say("a whole number from 1"))
}

func (k *numberKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	if v, err := yaml.Value(at.node); err == nil {
		if x, ok := v.Float(); ok && x >= 1 && x <= 1e6 {
			*k = numberKey{at, x}
			return
		}
	}
	d.reportMismatch(at, nameOf(tag, at), say("a number from 1"))
}

func (k *durationKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	n := yaml.Resolve(at.node)
	length, err := time.ParseDuration(n.Value)
	switch {
	case n.Kind != yaml.Scalar:
		d.reportMismatch(at, nameOf(tag, at), say("a duration such as 30s"))
	case n.ShortTag() != "!!str":
		d.add(d.positionOf(at.node), "%s %s has no unit", nameOf(tag, at), n.Value).hint("write %ss for seconds; the units are ms, s, m and h", n.Value)
	case err != nil:
		d.add(d.positionOf(at.node), "%s: invalid duration %q", nameOf(tag, at), n.Value).hint("use 500ms, 30s, 2m or 1h30m")
	case length <= 0:
		d.add(d.positionOf(at.node), "%s must be more than nothing, not %s", nameOf(tag, at), n.Value)
	default:
		*k = durationKey{at, length}
	}
}
