package inchat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// book is one world book among the parameters: an object with entries, or a list of
// entries.
type book struct {
	name    string
	pointer string // JSON pointer into the parameters
	// scanDepth is the book's own number of newest messages to search for keys, or nil.
	scanDepth *int64
	// foreign is set for a book in another program's format, whose entries are included only by their keys: a
	// character card, or a book of RisuAI.
	foreign bool
	// format names a format that is not read, for example NovelAI; such a book has no entries.
	format string
	// ignored lists the switches of the book that are set and not evaluated, for example
	// recursive_scanning.
	ignored []string
	// similar counts the entries that similarity could add, which only their keys do here.
	similar int
	// wrongDepth is a scan_depth that is not an integer, as JSON, or "".
	wrongDepth string
	// unread counts, by field, the entries that are left out because of a field that
	// is not understood.
	unread  map[wording.Text]int
	nearest nearestField // among the fields of another program
	// keyless counts the entries that are not constant and have no key; lint sets it.
	keyless int
}

// placedEntry is an entry of a world book, or a value in place of one.
type placedEntry struct {
	v       value.Value
	pointer string // JSON pointer into the parameters
	book    *book
}

// bookReader lists the entries of world books in any shape: a list of them, nested,
// {entries: a list or a map}, {world_book: ...}, a character card, a book of RisuAI, or one
// entry. Anything else is listed too, so that the trace can name it, but for a card without a
// book. Lists directly in entries are not books.
type bookReader struct {
	entries []placedEntry
	books   []*book
	inCard  bool // the book of a character card is being read
}

// readBooks lists the entries of world books: _flatten_world_books in the documents.
func readBooks(v value.Value, pointer string) *bookReader {
	r := &bookReader{}
	r.read(v, pointer, nil)
	return r
}

func (r *bookReader) read(v value.Value, pointer string, in *book) {
	switch v.Kind() {
	case value.List:
		if in == nil {
			in = r.newBook(v, pointer)
		}
		r.entries = slices.Grow(r.entries, len(v.List()))
		for i, item := range v.List() {
			r.read(item, pointer+"/"+strconv.Itoa(i), in)
		}
		return
	case value.Object:
		r.readObject(v, pointer, in)
		return
	case value.Null, value.Bool, value.Int, value.Float, value.String:
	}
	if !isEmpty(v) {
		r.add(v, pointer, in)
	}
}

func (r *bookReader) readObject(v value.Value, pointer string, in *book) {
	if format := unreadFormat(v); format != "" {
		r.newBook(v, pointer).format = format
		return
	}
	if data, _ := v.Get("data"); isFormat(v, "type", "risu") && data.Kind() == value.List {
		b := r.newBook(v, pointer)
		b.foreign = true
		r.readEntries(data, pointer+"/data", b)
		return
	}
	if entries, _ := v.Get("entries"); entries.Kind() == value.List || entries.Kind() == value.Object {
		b := r.newBook(v, pointer)
		b.foreign = b.foreign || r.inCard
		r.readEntries(entries, pointer+"/entries", b)
		return
	}
	for _, wrapper := range []string{"world_book", "character_book", "data"} {
		inner, _ := v.Get(wrapper)
		isList := inner.Kind() == value.List && wrapper == "world_book"
		if inner.Kind() == value.Object || isList {
			outer := r.inCard
			r.inCard = outer || wrapper == "character_book"
			r.read(inner, pointer+"/"+wrapper, nil)
			r.inCard = outer
			return
		}
	}
	if isCard(v) {
		return
	}
	if v.Map().Len() > 0 {
		r.add(v, pointer, in)
	}
}

// readEntries reads the member entries of a book, a list or a map.
func (r *bookReader) readEntries(entries value.Value, pointer string, in *book) {
	readOne := func(v value.Value, key string) {
		at := pointer + "/" + value.Escape(key)
		if v.Kind() == value.List {
			r.add(v, at, in)
			return
		}
		r.read(v, at, in)
	}
	r.entries = slices.Grow(r.entries, len(entries.List())+entries.Map().Len())
	for i, item := range entries.List() {
		readOne(item, strconv.Itoa(i))
	}
	for key, item := range entries.Map().All() {
		readOne(item, key)
	}
}

func (r *bookReader) add(v value.Value, pointer string, in *book) {
	if in == nil {
		in = r.newBook(v, pointer)
	}
	r.entries = append(r.entries, placedEntry{v, pointer, in})
}

// unreadFormat returns the name of the program of a book, if books of that program are not read, and "" otherwise.
func unreadFormat(v value.Value) string {
	if _, ok := v.Get("lorebookVersion"); ok {
		return "NovelAI"
	}
	if entries, _ := v.Get("entries"); isFormat(v, "kind", "memory") && entries.Kind() == value.List {
		return "Agnai"
	}
	return ""
}

// isFormat reports whether a book names its format, for example {"type": "risu"}.
func isFormat(v value.Value, field, name string) bool {
	given, _ := textField(v.Map(), field)
	return given == name
}

// isCard reports whether an object is a character card, or the rest of one whose character_book is null and which
// therefore has no entries.
func isCard(v value.Value) bool {
	if _, has := v.Get("character_book"); has {
		return true
	}
	spec, _ := textField(v.Map(), "spec")
	return strings.HasPrefix(spec, "chara_card")
}

// countUnread counts the fields that keep an entry from being evaluated, except fields that look misspelt, which
// are reported separately.
func (b *book) countUnread(entry *value.Map, unread []wording.Text) {
	for _, what := range unread {
		_, isField := entry.Get(what.En)
		isMisspelt := isField && !knownFields[what.En] && b.nearest.findMeant(entry, what.En, loreFields) != ""
		if !isMisspelt {
			b.unread[what]++
		}
	}
}

func (r *bookReader) newBook(v value.Value, pointer string) *book {
	b := &book{pointer: pointer, unread: map[wording.Text]int{}}
	if _, isBook := v.Get("entries"); isBook {
		b.name = firstField(v.Map(), "", "name")
		for _, name := range []string{"recursive_scanning", "token_budget"} {
			if set, _ := v.Get(name); isTrue(set) {
				b.ignored = append(b.ignored, name)
			}
		}
		given, _ := v.Get("scan_depth")
		depth, isInt := macro.Int(given)
		_, isNumber := given.Float()
		switch {
		case isEmpty(given) && !isNumber:
		case isInt && depth >= 0: // 0 searches nothing
			b.scanDepth = &depth
		case !isInt:
			b.wrongDepth = value.Truncate(given.JSON(), 80)
		}
	}
	if b.name == "" {
		b.name = pointer[1:]
	}
	r.books = append(r.books, b)
	return b
}

// wrongDepthText describes the effect of a wrong scan_depth.
func (b *book) wrongDepthText() wording.Text {
	return wording.Say("scan_depth is %s, not an integer: it does nothing", b.wrongDepth)
}

// notes returns the parts of the whole book that are not read or not evaluated.
func (b *book) notes() (notes []wording.Text) {
	if b.format != "" {
		return []wording.Text{wording.Say("books of %s are not read, so it has no entries (open it in SillyTavern and export it)", wording.Same(b.format))}
	}
	if len(b.ignored) > 0 {
		names := make([]wording.Text, len(b.ignored))
		for i, name := range b.ignored {
			names[i] = wording.Same(name)
		}
		notes = append(notes, wording.Say("not evaluated: %s", wording.Join(names, ", ", "、")))
	}
	if b.similar > 0 {
		notes = append(notes, wording.Say("similarity (vectorized) is not evaluated: %d entries are in only by their keys", b.similar))
	}
	return notes
}

// unreadText lists the fields that are not evaluated with the number of entries; it is empty if all fields are
// evaluated.
func (b *book) unreadText() wording.Text {
	fields := make([]wording.Text, 0, len(b.unread))
	for field, count := range b.unread {
		fields = append(fields, wording.Say("%s (%s)", field, strconv.Itoa(count)))
	}
	slices.SortFunc(fields, func(a, b wording.Text) int { return strings.Compare(a.En, b.En) })
	return wording.Join(fields, ", ", "、")
}
