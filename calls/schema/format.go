package schema

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/calls/internal/date"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Format is a format whose values are checked, and brought into the one form that programs take. Schemas name it as a format of a string or
// a number, or, if it has a Type, as a type of its own. [Formats] lists the built-in ones; it is safe for concurrent use.
type Format struct {
	// Name is the word that a schema writes under format or type.
	Name string
	// Words are the name that people use for a value, with its article: "an e-mail address"; "" is the name.
	Words wording.Text
	// Type is the schema of the name as a type; null for a name that is not a type.
	Type value.Value
	// Check reports whether v is in the form already.
	Check func(v value.Value) bool
	// Convert brings v, a string or a number, into the form. types lists the types that the schema allows, maybe
	// none; now is the time that relative values count from, in their zone. ok is false if v is not understood; v is
	// then returned unchanged. nil converts nothing.
	Convert func(v value.Value, types []string, now time.Time) (converted value.Value, ok bool)
}

// Reads reports whether v is in the form, or can be brought into it, for example "tomorrow" as a date.
func (f Format) Reads(v value.Value, types []string, now time.Time) bool {
	if f.Check(v) {
		return true
	}
	if f.Convert == nil {
		return false
	}
	_, ok := f.Convert(v, types, now)
	return ok
}

// Misfit returns the problem of a value that is neither in the form nor understood.
func (f Format) Misfit() Problem {
	return Problem{Keyword: "format"}.WithMessage("it is not understood as %s", formatWords(f.Name))
}

// formatWords returns the name that people use for a value of a format.
func formatWords(name string) wording.Text {
	format, ok := FindFormat(name)
	if !ok || format.Words.En == "" {
		return wording.Of(name)
	}
	return format.Words
}

// ParseForPeople compiles a schema as [Parse] does. A text that it checks must be of the format that its place has, or be
// understood as such a value, for example "tomorrow" as a date.
func ParseForPeople(doc value.Value, now time.Time) (*Schema, error) {
	return ParseWithFormats(doc, func(sub value.Value) func(string) bool {
		name, _ := sub.Get("format")
		format, ok := FindFormat(name.PlainText())
		if !ok {
			return nil
		}
		return func(text string) bool { return format.Reads(value.OfString(text), []string{"string"}, now) }
	})
}

// IsBlank reports whether a value is a text of white space alone.
func IsBlank(v value.Value) bool {
	text, isText := v.Str()
	return isText && strings.TrimSpace(text) == ""
}

// TakesBlank reports whether a schema names the empty text as a value: by minLength: 0, enum, const or default.
// From a person, a blank text counts as no answer for any other schema.
func TakesBlank(of value.Value) bool {
	least, isBounded := of.Get("minLength")
	if n, _ := least.Int(); isBounded && n == 0 {
		return true
	}
	named, _ := of.Get("enum")
	list := slices.Clip(named.List())
	for _, keyword := range []string{"const", "default"} {
		if one, ok := of.Get(keyword); ok {
			list = append(list, one)
		}
	}
	return slices.ContainsFunc(list, IsBlank)
}

// FindFormat finds a built-in format by its name.
func FindFormat(name string) (Format, bool) {
	formats := builtInFormats()
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return formats[i], true
}

// Formats returns the built-in formats. Of these, people may write values as they speak, in Chinese and English (see [date.Parse]):
//
//	date       2024-05-01
//	timestamp  2024-05-01 15:04:05 in the zone of the clock; if the schema allows
//	           numbers only, seconds since 1970
//	date-time  2024-05-01T15:04:05+08:00
//	time       15:04, 15:04:05, or with a zone as JSON Schema has it
//	duration   PT30M
//
// The others come from JSON Schema, and url; they are only checked: email, uuid, ipv4 ...
func Formats() []Format { return slices.Clone(builtInFormats()) }

// The layouts of the formats.
const (
	dateLayout      = "2006-01-02"
	timestampLayout = "2006-01-02 15:04:05"
)

var builtInFormats = sync.OnceValue(func() []Format {
	formats := []Format{
		{
			Name:    "date",
			Words:   wording.Text{En: "a date", Zh: "日期"},
			Type:    value.OfMap(value.Pairs("type", "string", "pattern", `^\d{4}-\d{2}-\d{2}$`)),
			Check:   matchesLayouts(dateLayout),
			Convert: timeConverter(dateLayout, date.Day),
		},
		{
			Name:    "timestamp",
			Words:   wording.Text{En: "a timestamp", Zh: "时间戳"},
			Type:    value.OfMap(value.Pairs("type", "string", "pattern", `^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$`)),
			Check:   matchesLayouts(timestampLayout),
			Convert: timeConverter(timestampLayout, date.Parse),
		},
		{
			Name:    "date-time",
			Words:   wording.Text{En: "a date-time", Zh: "日期和时间"},
			Type:    value.OfMap(value.Pairs("type", "string", "pattern", `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$`)),
			Check:   matchesLayouts(time.RFC3339),
			Convert: timeConverter(time.RFC3339, date.Parse),
		},
		{
			Name:    "time",
			Words:   wording.Text{En: "a time", Zh: "时间"},
			Check:   matchesLayouts("15:04", time.TimeOnly, "15:04:05Z07:00"),
			Convert: textConverter(date.Clock),
		},
		{
			Name:    "duration",
			Words:   wording.Text{En: "a length of time", Zh: "时长"},
			Check:   checkText(libraryFormat("duration")),
			Convert: textConverter(date.Duration),
		},
		{Name: "email", Words: wording.Text{En: "an e-mail address", Zh: "邮箱地址"}, Check: checkText(isEmail)},
		{Name: "idn-email", Words: wording.Text{En: "an e-mail address", Zh: "邮箱地址"}, Check: checkText(isEmail)},
		{Name: "uri", Words: wording.Text{En: "a web address", Zh: "网址"}, Check: checkText(isURL)},
		{Name: "url", Words: wording.Text{En: "a web address", Zh: "网址"}, Check: checkText(isURL)},
		{Name: "iri", Words: wording.Text{En: "a web address", Zh: "网址"}, Check: checkText(isURL)},
		{Name: "hostname", Words: wording.Text{En: "the name of a computer", Zh: "主机名"}, Check: checkText(libraryFormat("hostname"))},
		{Name: "ipv4", Words: wording.Text{En: "an IPv4 address", Zh: "IPv4 地址"}, Check: checkText(libraryFormat("ipv4"))},
		{Name: "ipv6", Words: wording.Text{En: "an IPv6 address", Zh: "IPv6 地址"}, Check: checkText(libraryFormat("ipv6"))},
		{Name: "uuid", Words: wording.Text{En: "a UUID", Zh: "UUID"}, Check: checkText(libraryFormat("uuid"))},
	}
	for _, name := range []string{"uri-reference", "iri-reference", "uri-template", "json-pointer", "relative-json-pointer", "regex"} {
		formats = append(formats, Format{Name: name, Words: wording.Of(name), Check: checkText(libraryFormat(name))})
	}
	return formats
})

// libraryFormat returns the check of a format of JSON Schema.
func libraryFormat(name string) func(string) bool {
	format := sync.OnceValue(func() *jsonschema.Format {
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft7)
		c.AssertFormat()
		if err := c.AddResource(location, map[string]any{"format": name}); err != nil {
			return nil
		}
		compiled, err := c.Compile(location)
		if err != nil {
			return nil
		}
		return compiled.Format
	})
	return func(text string) bool { return format() == nil || format().Validate(text) == nil }
}

// checkText returns a check of texts; other values are not of the format's kind, and fit.
func checkText(fits func(string) bool) func(value.Value) bool {
	return func(v value.Value) bool {
		text, isText := v.Str()
		return !isText || fits(text)
	}
}

func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text
}

// isURL reports whether a text is a URL with a scheme. JSON Schema takes no space in one.
func isURL(text string) bool {
	u, err := url.Parse(text)
	isWhole := err == nil && u.Scheme != "" && (u.Host != "" || u.Opaque != "" || u.Path != "")
	return isWhole && !strings.ContainsFunc(text, unicode.IsSpace)
}

func matchesLayouts(layouts ...string) func(value.Value) bool {
	return func(v value.Value) bool {
		text, ok := v.Str()
		return ok && slices.ContainsFunc(layouts, func(layout string) bool {
			_, err := time.Parse(layout, text)
			return err == nil
		})
	}
}

// textConverter converts a text by read.
func textConverter(read func(string) (string, bool)) func(value.Value, []string, time.Time) (value.Value, bool) {
	return func(v value.Value, _ []string, _ time.Time) (value.Value, bool) {
		text, isText := v.Str()
		if !isText {
			return v, true
		}
		converted, ok := read(text)
		if !ok {
			return v, false
		}
		return value.OfString(converted), true
	}
}

// timeConverter converts a point in time that read understands. Schemas that take numbers
// but no text get seconds since 1970.
func timeConverter(layout string, read func(string, time.Time) (time.Time, bool)) func(value.Value, []string, time.Time) (value.Value, bool) {
	return func(v value.Value, types []string, now time.Time) (value.Value, bool) {
		takesNumbers := slices.Contains(types, "number") || slices.Contains(types, "integer")
		isNumber := v.Kind() == value.Int || v.Kind() == value.Float
		numeric := !slices.Contains(types, "string") && takesNumbers
		if numeric && isNumber {
			return v, true
		}
		at, ok := read(v.PlainText(), now)
		if !ok {
			return v, false
		}
		if numeric {
			return value.OfInt(at.Unix()), true
		}
		return value.OfString(at.Format(layout)), true
	}
}
