package calls

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Texts are the texts of a call that exist once in each language, such as its prompts. Users' texts are in
// [Env.Languages]; a call lists them in its [Definition], so that they are checked before a flow runs. They live
// as long as the program, and do not change.
type Texts struct {
	// Folder is the name of their folder within a language's.
	Folder string
	// BuiltIn has lang/LANGUAGE/NAME. Every text is in lang/en.
	BuiltIn fs.FS
	// Check finds the faults of a text that a user wrote. Line and Col of a problem are its place.
	Check func(name string, text []byte) []schema.Problem
}

// Names returns the names of the files, sorted.
func (t *Texts) Names() []string {
	entries, err := fs.ReadDir(t.BuiltIn, "lang/en")
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Read returns the text of a name in a language, and its path. The users' text comes before the built-in one; then
// the texts of the language without its region are tried, then English. further is [Env.Languages].
func (t *Texts) Read(further fs.FS, language, name string) (text []byte, path string, err error) {
	type place struct {
		files fs.FS
		path  string
	}
	var places []place
	for _, l := range WithoutRegion(language) {
		if further != nil {
			places = append(places, place{further, l + "/" + t.Folder + "/" + name})
		}
		places = append(places, place{t.BuiltIn, "lang/" + l + "/" + name})
	}
	for _, p := range append(places, place{t.BuiltIn, "lang/en/" + name}) {
		if !fs.ValidPath(p.path) {
			continue
		}
		text, err = ReadFileFS(p.files, p.path, AnyLength)
		if err == nil {
			return text, p.path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, "", Errorf(Invalid, "reading the text %s of %s in the language %s: %w", name, t.Folder, language, err)
		}
	}
	return nil, "", Errorf(Internal, "there is no text %s of %s", name, t.Folder)
}

// IsBuiltIn reports whether a text is one of the program's own, by its path as Read returns it.
func (t *Texts) IsBuiltIn(path string) bool { return strings.HasPrefix(path, "lang/") }

// SourceName returns the name of a text as the source of a piece of a prompt: the set's name for a built-in one,
// for a user's its path, as Read returns it.
func (t *Texts) SourceName(path, name string) string {
	if t.IsBuiltIn(path) {
		return t.Folder + " " + name
	}
	return path
}

// UnknownName describes the problem of a text that mentions, at an offset, a name that
// is not among those known there.
func UnknownName(text string, offset int, name string, known []string) schema.Problem {
	p := schema.Problem{}.WithMessage("there is no %s here", name)
	p.Line, p.Col = value.LineCol(text, offset)
	if near := value.Nearest(name, known); near != "" {
		return p.WithHint("did you mean %q?", near)
	}
	if len(known) > 0 {
		return p.WithHint("there are %s", strings.Join(known, ", "))
	}
	return p
}

// WithoutRegion returns the names under which to look for texts in a language, the closest first: for example
// zh-CN, then zh.
func WithoutRegion(language string) []string {
	general, _, region := strings.Cut(strings.ReplaceAll(language, "_", "-"), "-")
	if !region {
		return []string{language}
	}
	return []string{language, general}
}

// Weekday returns the name of a day of the week: Chinese for zh and its regions, else
// English.
func Weekday(day time.Weekday, language string) string {
	if slices.Contains(WithoutRegion(language), "zh") {
		return [...]string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}[day]
	}
	return day.String()
}
