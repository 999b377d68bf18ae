// Package wording has the messages of the program in the languages that are built in:
// English, which identifies them in the code, and Chinese. For example, Say("%s not found", name) makes both
// texts of one message.
package wording

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Text is a message in the built-in languages.
type Text struct{ En, Zh string }

// String returns the English text, for messages that know no other language.
func (t Text) String() string { return t.En }

// In returns the text in a language: Chinese for zh and its regions, if there is one, else English.
func (t Text) In(language string) string {
	if IsChinese(language) && t.Zh != "" {
		return t.Zh
	}
	return t.En
}

// Same returns a text that is the same in all languages, for example a name.
func Same(text string) Text { return Text{text, text} }

// IsChinese reports whether a language is zh or one of its regions.
func IsChinese(language string) bool {
	general, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(language), "_", "-"), "-")
	return general == "zh"
}

// IsTraditional reports whether a language is Chinese of a region or script that writes
// traditional characters, which the built-in texts are not in.
func IsTraditional(language string) bool {
	if !IsChinese(language) {
		return false
	}
	parts := strings.Split(strings.ReplaceAll(strings.ToLower(language), "_", "-"), "-")
	return slices.ContainsFunc(parts[1:], func(part string) bool {
		return slices.Contains([]string{"tw", "hk", "mo", "hant"}, part)
	})
}

// Catalog has the Chinese formats by the English ones. A package has one, which it adds when
// it is initialised; from then on it is only read. Both formats take the same arguments, in
// the same order unless the Chinese one numbers them (%[2]s).
type Catalog map[string]string

var (
	// catalogs has the added catalogs. If a format is in several of them, its Chinese format is the same in all.
	catalogs []Catalog
	// files are catalogs as JSON. A test of the program reads each of them; one that is damaged leaves its messages in English.
	files []string
	// together is all catalogs in one, nil until a message is looked up.
	together atomic.Pointer[Catalog]
)

// Add makes a catalog known to [Say]. Packages call it in the declaration of a variable, and
// nothing else does.
func Add(c Catalog) Catalog {
	catalogs = append(catalogs, c)
	together.Store(nil)
	return c
}

// AddFile makes a catalog known that a package has as a file: lang/zh.json, an object of the Chinese formats by the English ones. It is
// read when the first message is looked up. Packages call it as they call [Add].
func AddFile(text string) struct{} {
	files = append(files, text)
	together.Store(nil)
	return struct{}{}
}

// chinese returns all catalogs in one. It is put together when the first message is looked up,
// which is after the start of the program.
func chinese() Catalog {
	if all := together.Load(); all != nil {
		return *all
	}
	all := make(Catalog, 4096)
	for _, c := range catalogs {
		maps.Copy(all, c)
	}
	for _, text := range files {
		_ = json.Unmarshal([]byte(text), &all)
	}
	together.Store(&all)
	return all
}

// chineseFormat returns the Chinese format of an English one, or the English one if no catalog has it.
func chineseFormat(english string) string {
	if zh, ok := chinese()[english]; ok {
		return zh
	}
	return english
}

// Named is a value with a name in each of the built-in languages, such as a kind of values; its String is the
// English one.
type Named interface {
	String() string
	// Name returns the name.
	Name() Text
}

// Say formats a message. Arguments that are texts or have names, and errors that know other languages, are
// inserted in the language of the message. A format that no catalog has stays English.
func Say(format string, args ...any) Text {
	if len(args) == 0 && !strings.Contains(format, "%") {
		return Text{format, chineseFormat(format)}
	}
	return Text{sayEnglish(format, args), sayChinese(format, args)}
}

// SayIn is [Say] in one language, for messages that are made often.
func SayIn(language, format string, args ...any) string {
	if IsChinese(language) {
		return sayChinese(format, args)
	}
	return sayEnglish(format, args)
}

func sayEnglish(format string, args []any) string {
	if slices.ContainsFunc(args, isText) {
		args = replaceArgs(args, func(arg any) any {
			if text, ok := arg.(Text); ok {
				return text.En
			}
			return arg
		})
	}
	return fmt.Sprintf(withoutWrapping(format), args...)
}

func isText(arg any) bool { _, ok := arg.(Text); return ok }

func sayChinese(format string, args []any) string {
	return fmt.Sprintf(withoutWrapping(chineseFormat(format)), replaceArgs(args, func(arg any) any {
		switch arg := arg.(type) {
		case Text:
			return arg.Zh
		case Named:
			return arg.Name().Zh
		case error:
			return OfError(arg).Zh
		}
		return arg
	})...)
}

func replaceArgs(args []any, replace func(any) any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		out[i] = replace(arg)
	}
	return out
}

var wrappingVerbs = strings.NewReplacer("%w", "%v", "%[1]w", "%[1]v", "%[2]w", "%[2]v", "%[3]w", "%[3]v", "%[4]w", "%[4]v")

// withoutWrapping returns the format with %v for %w, which only fmt.Errorf knows.
func withoutWrapping(format string) string {
	if !strings.Contains(format, "%w") && !strings.Contains(format, "]w") {
		return format
	}
	return wrappingVerbs.Replace(format)
}

// Of returns a message that was made in English: one without arguments, or the hint that names the probable
// meaning or lists the possible names. Any other stays English.
func Of(english string) Text {
	if quoted, ok := strings.CutPrefix(english, "did you mean "); ok {
		if name, err := strconv.Unquote(strings.TrimSuffix(quoted, "?")); err == nil {
			return Say("did you mean %q?", name)
		}
	}
	if names, ok := strings.CutPrefix(english, "there are "); ok && !strings.Contains(names, ";") {
		return Say("there are %s", names)
	}
	return Text{english, chineseFormat(english)}
}

var _ = Add(Catalog{
	"did you mean %q?": "是否想写 %q？",
	"there are %s":     "可用的有 %s",
})

// Count returns a number with its noun, in the plural except for one.
func Count(n int, noun string) Text {
	format := "%d " + noun
	zh := chineseFormat(format)
	if n != 1 {
		format += "s"
		if noun == "memory" {
			format = "%d memories"
		}
	}
	return Text{fmt.Sprintf(format, n), fmt.Sprintf(zh, n)}
}

// The nouns of [Count].
var _ = Add(Catalog{
	"%d answer":        "%d 个回答",
	"%d character":     "%d 个字符",
	"%d item":          "%d 项",
	"%d line":          "%d 行",
	"%d memory":        "%d 条记忆",
	"%d message":       "%d 条消息",
	"%d meta snapshot": "%d 个元快照",
	"%d place":         "%d 处",
	"%d run":           "%d 个运行",
	"%d snapshot":      "%d 个快照",
	"%d token":         "%d 个 token",
	"%d vector":        "%d 个向量",
	"%d warning":       "%d 条警告",
})

// Errorf is [fmt.Errorf] for an error that knows its message in other languages, which is
// formatted when it is asked for.
func Errorf(format string, args ...any) error {
	return &formatted{fmt.Errorf(format, inEnglish(args)...), format, args} //nolint:err113 // the format is the caller's
}

// inEnglish returns arguments with texts replaced by their English.
func inEnglish(args []any) []any {
	english := args
	for i, arg := range args {
		text, ok := arg.(Text)
		if !ok {
			continue
		}
		if &english[0] == &args[0] {
			english = slices.Clone(args)
		}
		english[i] = text.En
	}
	return english
}

// formatted is an error with the format and arguments of its message.
type formatted struct {
	error
	format string
	args   []any
}

// In returns the message in a language.
func (f *formatted) In(language string) string {
	if IsChinese(language) {
		return Say(f.format, f.args...).Zh
	}
	return f.Error()
}

// Unwrap returns the English error, which wraps the same errors as the format.
func (f *formatted) Unwrap() error { return f.error }

// Error is an error that knows its message in other languages. [Errorf] makes one; like
// all errors it does not change.
type Error interface {
	error
	// In returns the message in a language.
	In(language string) string
}

// OfError returns the message of an error. If it wraps errors that know other languages, only their part is
// translated.
func OfError(err error) Text {
	text := Of(err.Error())
	if known, ok := err.(Error); ok { //nolint:errorlint // what is wrapped is looked at below
		text.Zh = known.In("zh")
		return text
	}
	if whole, ok := recognizeWhole(err.Error()); ok {
		return whole
	}
	if chinese, ok := chineseOfSystem(err); ok {
		text.Zh = chinese
		return text
	}
	var below []error
	switch wrapping := err.(type) { //nolint:errorlint // each link is looked at by itself
	case interface{ Unwrap() error }:
		below = append(below, wrapping.Unwrap())
	case interface{ Unwrap() []error }:
		below = wrapping.Unwrap()
	}
	for _, e := range below {
		if e == nil {
			continue
		}
		if inner := OfError(e); inner.Zh != inner.En && inner.En != "" {
			text.Zh = strings.Replace(text.Zh, inner.En, inner.Zh, 1)
		}
	}
	if text.Zh == text.En {
		text, _ = Recognize(text.En)
	}
	return text
}

// chineseOfSystem returns the Chinese text of an error of the file system or of a system call,
// which has the operation in English; ok is false for any other.
func chineseOfSystem(err error) (text string, ok bool) {
	switch of := err.(type) { //nolint:errorlint // what wraps it is around it
	case *fs.PathError:
		if of.Err != nil {
			return of.Path + "：" + OfError(of.Err).Zh, true
		}
	case *os.LinkError:
		if of.Err != nil {
			return of.Old + " → " + of.New + "：" + OfError(of.Err).Zh, true
		}
	case *os.SyscallError:
		if of.Err != nil {
			return OfError(of.Err).Zh, true
		}
	case *exec.Error:
		if of.Err != nil {
			return of.Name + "：" + OfError(of.Err).Zh, true
		}
	}
	return "", false
}

// Join joins texts with a separator for each language.
func Join(all []Text, en, zh string) Text {
	ens, zhs := make([]string, len(all)), make([]string, len(all))
	for i, t := range all {
		ens[i], zhs[i] = t.En, t.Zh
	}
	return Text{strings.Join(ens, en), strings.Join(zhs, zh)}
}
