// Package wording has the messages of the program in the languages that are built in:
// English, by which they are known in the code, and Chinese.
package wording

import (
	"fmt"
	"strings"
)

// Text is a message in the built-in languages.
type Text struct{ En, Zh string }

// In returns the text in a language: Chinese for zh and its regions, where there is one,
// else English.
func (t Text) In(language string) string {
	if IsChinese(language) && t.Zh != "" {
		return t.Zh
	}
	return t.En
}

// Same returns what is the same in all languages, such as a name.
func Same(text string) Text { return Text{text, text} }

// IsChinese reports whether a language is zh or one of its regions.
func IsChinese(language string) bool {
	general, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(language), "_", "-"), "-")
	return general == "zh"
}

// Catalog has the Chinese formats by the English ones. A package keeps one; it is only read.
// Both formats take the same arguments, in the same order unless the Chinese one numbers
// them (%[2]s).
type Catalog map[string]string

// Say formats a message. Arguments that are texts, and errors that know other languages, are
// inserted in the language of the message. What the catalog does not have stays English.
func (c Catalog) Say(format string, args ...any) Text {
	chinese, known := c[format]
	if !known {
		chinese = format
	}
	en, zh := make([]any, len(args)), make([]any, len(args))
	for i, arg := range args {
		en[i], zh[i] = arg, arg
		switch arg := arg.(type) {
		case Text:
			en[i], zh[i] = arg.En, arg.Zh
		case error:
			en[i], zh[i] = arg, OfError(arg).Zh
		}
	}
	wrap := strings.NewReplacer("%w", "%v").Replace
	return Text{fmt.Sprintf(wrap(format), en...), fmt.Sprintf(wrap(chinese), zh...)}
}

// Error is an error that knows its message in other languages.
type Error interface {
	error
	// In returns the message in a language.
	In(language string) string
}

// OfError returns the message of an error. Around those that know other languages, what
// wraps them stays as it is.
func OfError(err error) Text {
	text := Text{err.Error(), err.Error()}
	if known, ok := err.(Error); ok { //nolint:errorlint // what is wrapped is looked at below
		text.Zh = known.In("zh")
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
	return text
}

// Join joins texts with a separator for each language.
func Join(all []Text, en, zh string) Text {
	ens, zhs := make([]string, len(all)), make([]string, len(all))
	for i, t := range all {
		ens[i], zhs[i] = t.En, t.Zh
	}
	return Text{strings.Join(ens, en), strings.Join(zhs, zh)}
}
