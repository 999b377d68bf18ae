package value

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/wording"
)

// DidYouMean returns the hint that names the nearest of keys, as in
// did you mean "city"?, or "" when none is near.
func DidYouMean(key string, keys []string) string {
	near := Nearest(key, keys)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", near)
}

// DidYouMeanSuffix returns [DidYouMean] in brackets after a space, for the end of a message.
func DidYouMeanSuffix(key string, keys []string) wording.Text {
	return hintSuffix(DidYouMean(key, keys))
}

func hintSuffix(hint string) wording.Text {
	if hint == "" {
		return wording.Text{}
	}
	return wording.Say(" (%s)", wording.Of(hint))
}

// maxListed bounds the names of a list in a message.
const maxListed = 20

// ListNames returns names as a message lists them; of many it counts the rest.
func ListNames(names []string) string {
	if len(names) > maxListed {
		return fmt.Sprintf("%s ... (%d)", strings.Join(names[:maxListed], ", "), len(names))
	}
	return strings.Join(names, ", ")
}

// DidYouMeanOrList returns [DidYouMean] if one of keys is near, or else lists them. It returns "" if keys is
// empty.
func DidYouMeanOrList(key string, keys []string) string {
	if near := DidYouMean(key, keys); near != "" || len(keys) == 0 {
		return near
	}
	return "there are " + ListNames(keys)
}

// DidYouMeanOrListSuffix returns [DidYouMeanOrList] in brackets after a space, for the end of
// a message.
func DidYouMeanOrListSuffix(key string, keys []string) wording.Text {
	return hintSuffix(DidYouMeanOrList(key, keys))
}

// Nearest returns the key among keys that key was most likely meant to be; "" when none is near. [DidYouMean]
// makes the hint from it: use Nearest only for the key itself. Near is at most one edit in three characters, and
// one in two (insertion, deletion, substitution, swap of neighbours); case and the difference of - and _ are not
// counted.
func Nearest(key string, keys []string) string {
	want := appendFolded(nil, key)
	var have []rune
	seen := lettersIn(want)
	best, bestDistance := "", max(min(1, len(want)/2), len(want)/3)+1
	for _, k := range keys {
		// Most keys are distinguished by their lengths and letters, which costs little.
		if k == key || absInt(len(want)-utf8.RuneCountInString(k)) >= bestDistance {
			continue
		}
		have = appendFolded(have[:0], k)
		letters := lettersIn(have)
		if max(bits.OnesCount64(seen&^letters), bits.OnesCount64(letters&^seen)) >= bestDistance {
			continue
		}
		if d := editDistance(want, have); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// appendFolded appends the letters of a name without case, and with - for _.
func appendFolded(folded []rune, name string) []rune {
	for _, r := range name {
		if r == '_' {
			r = '-'
		}
		folded = append(folded, unicode.ToLower(r))
	}
	return folded
}

// lettersIn returns a set of the letters in a name, in which some letters are the same. Each
// letter that one name has and the other has not takes an edit.
func lettersIn(name []rune) (set uint64) {
	for _, r := range name {
		set |= 1 << (r & 63)
	}
	return set
}

func absInt(i int) int {
	if i < 0 {
		return -i
	}
	return i
}

// editDistance returns the optimal string alignment distance.
func editDistance(a, b []rune) int {
	if len(a) > 64 || len(b) > 64 {
		return 64 // too long to be a mistyped name
	}
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
