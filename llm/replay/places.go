package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Place is a text that is another one on each machine, or in each run, with the name that recordings have instead of it:
// the folder of the project is [project], for example.
type Place struct{ Text, Name string }

// places are those of a run. They are immutable.
type places []Place

// newPlaces returns places, the longest text first; short ones such as / are too common in texts.
func newPlaces(given []Place) places {
	const least = 4
	p := slices.DeleteFunc(slices.Clone(given), func(one Place) bool { return len(one.Text) < least })
	slices.SortStableFunc(p, func(a, b Place) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	return p
}

// WithoutPlaces returns v with the names of the places.
func WithoutPlaces(v value.Value, all []Place) value.Value { return newPlaces(all).hide(v) }

// hide returns v with the names of the places.
func (p places) hide(v value.Value) value.Value {
	if len(p) == 0 {
		return v
	}
	return mapStrings(v, p.hideText)
}

func (p places) hideText(text string) string {
	for _, one := range p {
		text = replaceWhole(text, one.Text, one.Name)
	}
	return text
}

// show returns v with the places of this machine and run.
func (p places) show(v value.Value) value.Value {
	if len(p) == 0 {
		return v
	}
	return mapStrings(v, p.showText)
}

func (p places) showText(text string) string {
	for _, one := range p {
		text = strings.ReplaceAll(text, one.Name, one.Text)
	}
	return text
}

// replaceWhole replaces old where it is not a part of a longer name: /srv/app is not in /srv/apples.
func replaceWhole(text, old, name string) string {
	var b strings.Builder
	rest := text
	for {
		i := strings.Index(rest, old)
		if i < 0 {
			break
		}
		end := i + len(old)
		isWhole := (i == 0 || !isNameByte(rest[i-1])) && (end == len(rest) || !isNameByte(rest[end]))
		b.WriteString(rest[:i])
		if isWhole {
			b.WriteString(name)
		} else {
			b.WriteString(old)
		}
		rest = rest[end:]
	}
	if b.Len() == 0 {
		return text
	}
	b.WriteString(rest)
	return b.String()
}

func isNameByte(c byte) bool {
	isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return isLetter || c >= '0' && c <= '9' || c == '_' || c == '-'
}
