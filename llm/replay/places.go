package replay

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Place is a text that is another one on each machine, or in each run, with the name that recordings have instead of it:
// the folder of the project is [project], for example.
type Place struct{ Text, Name string }

// places are the places of a run. They are immutable.
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
	return placePart.ReplaceAllStringFunc(text, p.showPart)
}

// placeRange is a place in a text.
type placeRange struct {
	start, end int
	name       string
}

// rangesIn returns the places in a text, in order and apart.
func (p places) rangesIn(text string) (ranges []placeRange) {
	for _, one := range p {
		for start := 0; ; {
			i := strings.Index(text[start:], one.Text)
			if i < 0 {
				break
			}
			r := placeRange{start + i, start + i + len(one.Text), one.Name}
			start = r.end
			isApart := !slices.ContainsFunc(ranges, func(o placeRange) bool { return r.start < o.end && o.start < r.end })
			if isApart && isWhole(text, r.start, r.end) {
				ranges = append(ranges, r)
			}
		}
	}
	slices.SortFunc(ranges, func(a, b placeRange) int { return cmp.Compare(a.start, b.start) })
	return ranges
}

// hidePiece returns text[start:end] with the names of the places; one that goes on before or after it has the name of its part, such as
// [scheduler:run@0:5]. The last part has no end: on another machine the place may be longer.
func (p places) hidePiece(text string, start, end int) string {
	var b strings.Builder
	at := start
	for _, r := range p.rangesIn(text) {
		from, to := max(r.start, start), min(r.end, end)
		if from >= to {
			continue
		}
		b.WriteString(text[at:from])
		name := r.name
		if to-from < r.end-r.start {
			last := ""
			if to < r.end {
				last = strconv.Itoa(to - r.start)
			}
			name = fmt.Sprintf("%s@%d:%s]", strings.TrimSuffix(name, "]"), from-r.start, last)
		}
		b.WriteString(name)
		at = to
	}
	return b.String() + text[at:end]
}

var placePart = regexp.MustCompile(`\[scheduler:(\w+)@(\d{1,6}):(\d{0,6})\]`)

// showPart replaces a name from hidePiece by its part of a place; it returns the name itself if there is no such
// place.
func (p places) showPart(name string) string {
	groups := placePart.FindStringSubmatch(name)
	i := slices.IndexFunc(p, func(one Place) bool { return one.Name == "[scheduler:"+groups[1]+"]" })
	if i < 0 {
		return name
	}
	text := p[i].Text
	from, _ := strconv.Atoi(groups[2]) // the pattern has digits alone
	to, err := strconv.Atoi(groups[3])
	if err != nil {
		to = len(text)
	}
	from, to = min(from, len(text)), min(to, len(text))
	return text[from:max(from, to)]
}

// isWhole reports whether text[start:end] is not part of a longer name.
func isWhole(text string, start, end int) bool {
	return (start == 0 || !isNameByte(text[start-1])) && (end == len(text) || !isNameByte(text[end]))
}

// replaceWhole replaces old if it is not a part of a longer name: /srv/app is not in /srv/apples.
func replaceWhole(text, old, name string) string {
	var b strings.Builder
	rest := text
	for {
		i := strings.Index(rest, old)
		if i < 0 {
			break
		}
		end := i + len(old)
		b.WriteString(rest[:i])
		if isWhole(rest, i, end) {
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
