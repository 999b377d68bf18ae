package facts

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed data/*.txt
var tables embed.FS

// table is the words and patterns of one language. Its file has one of these on each line:
//
//	set NAME WORDS              words that {NAME} stands for in patterns; {a,b} is a set without a name
//	same WORD WORDS             words that count as one in topics and questions
//	cut|strip|drop|... PATTERN  how a text is read; the patterns of one name are alternatives
//	attribute NAME one|many     the attribute of the lines that follow; explicit behind it means that its states need a subject
//	state|change|... PATTERN    a clause that states it; the first set has the words without which it is not tried.
//	                            state= follows a form of to be, and state! a negation
//	ask PATTERN                 a question for it
//	valid CHECKS                the values that its nouns may have; * for all
//	fix PATTERN                 a sentence that corrects <o> to <v>
//	topic WORDS                 nouns whose facts and questions are of this attribute
//
// In a pattern, <v> is the value, <v:A|B> one with a word of set A or B ("name" is a capital and "num"
// a number; with ! before, one without), <o> the old value and <n> the noun of a topic. ~ before a pattern makes it read the clause with its subject.
type table struct {
	sets     map[string]map[string]bool
	lists    map[string][]string
	synonyms map[string]string
	patterns map[string]*regexp.Regexp
	many     map[string]bool
	explicit map[string]bool   // attributes whose states need a subject: "love the quote" says nothing about the speaker
	nouns    map[string]string // as the file has them, to their attribute
	topics   func() map[string]string
	valid    map[string][]string // the checks of the values that nouns of an attribute may have
	fixes    []*regexp.Regexp    // how a text corrects another: <v>, not <o>
	rules    []*rule
	byWord   map[string][]int // the rules with a trigger
	always   []int            // the rules without one
	asks     []ask
	spaced   bool
}

// rule is a pattern of a clause that states an attribute.
type rule struct {
	attribute string
	kind      Kind
	copula    bool // it follows a form of to be
	negated   bool // it follows a word such as not
	// wholeClause makes it read the clause with its subject: the pattern begins with ~.
	wholeClause bool
	checks      []string
	pattern     func() *regexp.Regexp
}

// ask is how a question asks for an attribute.
type ask struct {
	attribute string
	bag       func() []string // stems, of languages with spaces
	pattern   func() *regexp.Regexp
}

var (
	english = sync.OnceValue(func() *table { return mustReadTable("data/en.txt", true) })
	chinese = sync.OnceValue(func() *table { return mustReadTable("data/zh.txt", false) })
)

// isMany reports whether an attribute has several values at once.
func isMany(attribute string) bool { return english().many[attribute] || chinese().many[attribute] }

func (t *table) set(name string) map[string]bool { return t.sets[name] }

// mustReadTable reads an embedded table: a wrong line is a fault of the program.
func mustReadTable(path string, spaced bool) *table {
	text, err := tables.ReadFile(path)
	if err != nil {
		panic(err)
	}
	t, err := readTable(string(text), spaced)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", path, err))
	}
	return t
}

var ruleKinds = []string{"state", "change", "end", "past", "correction"}

func readTable(text string, spaced bool) (*table, error) {
	t := &table{
		sets: map[string]map[string]bool{}, lists: map[string][]string{}, synonyms: map[string]string{}, patterns: map[string]*regexp.Regexp{},
		many: map[string]bool{}, explicit: map[string]bool{}, nouns: map[string]string{}, valid: map[string][]string{}, byWord: map[string][]int{}, spaced: spaced,
	}
	t.topics = sync.OnceValue(func() map[string]string {
		m := map[string]string{}
		for noun, attribute := range t.nouns {
			m[t.topicOf(noun)] = attribute
		}
		return m
	})
	plain := map[string][]string{}
	attribute := ""
	for n, line := range strings.Split(text, "\n") {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind := strings.TrimRight(key, "=!")
		switch {
		case key == "" || key == "#":
		case key == "set":
			name, words, _ := strings.Cut(rest, " ")
			t.addSet(name, words)
		case key == "same":
			words := strings.Fields(rest)
			for _, w := range words[1:] {
				t.synonyms[rank.Stem(w)] = rank.Stem(words[0])
			}
		case key == "attribute":
			name, number, _ := strings.Cut(rest, " ")
			attribute = name
			t.many[name] = strings.HasPrefix(number, "many")
			t.explicit[name] = strings.HasSuffix(number, "explicit")
		case key == "valid":
			t.valid[attribute] = strings.Fields(rest)
		case key == "fix":
			if err := t.addFix(rest); err != nil {
				return nil, wording.Errorf("line %d: %w", n+1, err)
			}
		case key == "ask":
			t.addAsk(attribute, rest)
		case key == "topic":
			for w := range strings.SplitSeq(rest, ",") {
				t.nouns[strings.TrimSpace(w)] = attribute
			}
		case slices.Contains(ruleKinds, kind) && attribute == "":
			return nil, wording.Errorf("line %d: a rule without an attribute", n+1)
		case slices.Contains(ruleKinds, kind):
			if err := t.addRule(attribute, key, rest); err != nil {
				return nil, wording.Errorf("line %d: %w", n+1, err)
			}
		default:
			plain[key] = append(plain[key], t.expand(rest))
		}
	}
	for name, patterns := range plain {
		p, err := regexp.Compile(strings.Join(patterns, "|"))
		if err != nil {
			return nil, wording.Errorf("%s: %w", name, err)
		}
		t.patterns[name] = p
	}
	return t, nil
}

// addSet adds words to a set; _ in a word means a space.
func (t *table) addSet(name, words string) {
	if t.sets[name] == nil {
		t.sets[name] = map[string]bool{}
	}
	for w := range strings.FieldsSeq(words) {
		if list, isSet := t.lists[strings.Trim(w, "{}")]; isSet && strings.HasPrefix(w, "{") {
			for _, w := range list {
				t.sets[name][w] = true
			}
			t.lists[name] = append(t.lists[name], list...)
			continue
		}
		w = strings.ReplaceAll(w, "_", " ")
		t.sets[name][w] = true
		t.lists[name] = append(t.lists[name], w)
	}
}

var (
	setMark   = regexp.MustCompile(`\{([\p{L}][^{}]*)\}`)
	valueMark = regexp.MustCompile(`<([von])(?::([^>]*))?>`)
)

// wordsOf returns the words of a mark such as {live} or {a,b}.
func (t *table) wordsOf(mark string) []string {
	if list, ok := t.lists[mark]; ok {
		return list
	}
	return strings.Split(mark, ",")
}

// expand replaces the sets of a pattern by their words, the longest first.
func (t *table) expand(pattern string) string {
	pattern = setMark.ReplaceAllStringFunc(pattern, func(m string) string {
		words := slices.Clone(t.wordsOf(m[1 : len(m)-1]))
		slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
		for i, w := range words {
			words[i] = regexp.QuoteMeta(w)
		}
		bound := ""
		if t.spaced {
			bound = `\b`
		}
		return bound + "(?:" + strings.Join(words, "|") + ")" + bound
	})
	return bothApostrophes(pattern)
}

// bothApostrophes makes a pattern match the typographic apostrophe as well.
func bothApostrophes(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := range len(pattern) {
		c := pattern[i]
		isEscaped := i > 0 && pattern[i-1] == '\\'
		if !isEscaped && (c == '[' || c == ']') {
			inClass = c == '['
		}
		switch {
		case c != '\'':
			b.WriteByte(c)
		case inClass:
			b.WriteString("'’")
		default:
			b.WriteString("['’]")
		}
	}
	return b.String()
}

// addRule adds a pattern of the present attribute.
func (t *table) addRule(attribute, key, pattern string) error {
	r := &rule{attribute: attribute, kind: Kind(strings.TrimRight(key, "=!")), copula: strings.HasSuffix(key, "="), negated: strings.HasSuffix(key, "!")}
	pattern, r.wholeClause = strings.CutPrefix(pattern, "~")
	const group = "(?P<" // of the pattern itself: <v> in it is not a mark
	pattern = strings.ReplaceAll(pattern, group, "\x00")
	number := len(t.rules)
	t.rules = append(t.rules, r)
	if m := setMark.FindStringSubmatch(pattern); m != nil {
		for _, w := range t.wordsOf(m[1]) {
			if t.spaced {
				w, _, _ = strings.Cut(w, " ")
			}
			if !slices.Contains(t.byWord[w], number) {
				t.byWord[w] = append(t.byWord[w], number)
			}
		}
	} else {
		t.always = append(t.always, number)
	}
	for _, m := range valueMark.FindAllStringSubmatch(pattern, -1) {
		if m[1] == "v" {
			r.checks = strings.Split(m[2], "|")
		}
	}
	for _, name := range r.checks {
		name = strings.TrimPrefix(name, "!")
		if name != "" && name != "name" && name != "num" && t.sets[name] == nil {
			return wording.Errorf("no set %q", name)
		}
	}
	text := strings.ReplaceAll(valueMark.ReplaceAllString(t.expand(pattern), `(?P<$1>.+?)`), "\x00", group)
	if !strings.HasSuffix(text, "$") {
		text += `(?:$|[，。！？；,;!?])`
	}
	text = "^(?:" + text + ")"
	if _, err := regexp.Compile(text); err != nil {
		return err
	}
	r.pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
	return nil
}

// addFix adds a pattern of a sentence that corrects another.
func (t *table) addFix(pattern string) error {
	p, err := regexp.Compile(t.expand(pattern))
	t.fixes = append(t.fixes, p)
	return err
}

// addAsk adds a way to ask: alternatives of words in any order, or a pattern in Chinese.
func (t *table) addAsk(attribute, rest string) {
	if t.spaced {
		for words := range strings.SplitSeq(rest, ";") {
			t.asks = append(t.asks, ask{attribute: attribute, bag: sync.OnceValue(func() []string { return bagOf(words, t) })})
		}
		return
	}
	text := t.expand(rest)
	t.asks = append(t.asks, ask{attribute: attribute, pattern: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })})
}

// find returns the place of the first match of a named pattern; nil if nothing matches.
func (t *table) find(name, text string) []int {
	p := t.patterns[name]
	if p == nil {
		return nil
	}
	return p.FindStringIndex(text)
}

// bagOf returns the stems of words; nil if only words such as "what" remain.
func bagOf(words string, t *table) []string {
	bag := questionStems(words, t)
	for _, w := range bag {
		if !t.sets["wh"][w] {
			return bag
		}
	}
	return nil
}

// groupOf returns the part of a text that a named group matched.
func groupOf(p *regexp.Regexp, m []int, name string) (Span, bool) {
	i := p.SubexpIndex(name)
	if i < 0 || m[2*i] < 0 {
		return Span{}, false
	}
	return Span{m[2*i], m[2*i+1]}, true
}
