// Package linediff compares two texts line by line, for people who look for differences. For example, [Show] marks
// a changed line once with - and once with +.
package linediff

import (
	"fmt"
	"strings"
)

// Limits of a diff that people read.
const (
	maxDiffLines = 40
	maxLineWidth = 160
	around       = 2 // lines shown before and after a change
	// maxCells bounds the table of the comparison; beyond it the middle of both
	// texts is shown as replaced.
	maxCells = 4 << 20
)

// Show returns the changes from one text to the other, with a few lines around each: lines marked with - are only
// in the first, lines with + only in the second. It is "" if both are the same.
func Show(before, after []string) string {
	script := compareLines(before, after)
	near := make([]bool, len(script))
	for i, line := range script {
		if line[0] != ' ' {
			for j := max(0, i-around); j <= min(len(script)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	var out strings.Builder
	shown := 0
	same := sameStarts(script)
	for i, line := range script {
		switch {
		case shown == maxDiffLines:
			fmt.Fprintf(&out, "  ... (+%d)\n", len(script)-i)
			return out.String()
		case near[i]:
			out.WriteString("  " + clipLine(line, same[i]) + "\n")
			shown++
		case i > 0 && near[i-1]:
			out.WriteString("  ...\n")
		}
	}
	return out.String()
}

// sameStarts returns, for each line that is replaced and for the one in its place, how
// many characters at the start they have in common; 0 for the others.
func sameStarts(script []string) []int {
	same := make([]int, len(script))
	for i := 0; i < len(script); {
		added := i
		for added < len(script) && script[added][0] == '-' {
			added++
		}
		end := added
		for end < len(script) && script[end][0] == '+' {
			end++
		}
		for gone, come := i, added; gone < added && come < end; gone, come = gone+1, come+1 {
			x, y := []rune(script[gone][2:]), []rune(script[come][2:])
			n := 0
			for n < len(x) && n < len(y) && x[n] == y[n] {
				n++
			}
			same[gone], same[come] = n, n
		}
		i = max(end, i+1)
	}
	return same
}

// clipLine shortens a marked line to a width that people read, and skips most of its first characters if they are
// known to be of no interest.
func clipLine(line string, skip int) string {
	mark, text := line[:2], []rune(line[2:])
	if skip > maxLineWidth/2 {
		mark, text = mark+"... ", text[skip-maxLineWidth/4:]
	}
	if len(text) > maxLineWidth {
		return mark + string(text[:maxLineWidth]) + " ..."
	}
	return mark + string(text)
}

// compareLines returns all lines of both texts, each marked with "  ", "- " or "+ ". It
// finds a longest common subsequence between the equal head and tail.
func compareLines(before, after []string) []string {
	var script, tail []string
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		script = append(script, "  "+before[0])
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		tail = append(tail, "  "+before[len(before)-1])
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	script = append(script, compareMiddle(before, after)...)
	for i := len(tail) - 1; i >= 0; i-- {
		script = append(script, tail[i])
	}
	return script
}

func compareMiddle(before, after []string) []string {
	var script []string
	i, j := 0, 0
	if len(before)*len(after) <= maxCells {
		// common[i][j] is the length of the longest common subsequence of the rests.
		width := len(after) + 1
		common := make([]int32, (len(before)+1)*width)
		for i := len(before) - 1; i >= 0; i-- {
			for j := len(after) - 1; j >= 0; j-- {
				if before[i] == after[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
		for i < len(before) && j < len(after) {
			switch {
			case before[i] == after[j]:
				script = append(script, "  "+before[i])
				i, j = i+1, j+1
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				script = append(script, "- "+before[i])
				i++
			default:
				script = append(script, "+ "+after[j])
				j++
			}
		}
	}
	for ; i < len(before); i++ {
		script = append(script, "- "+before[i])
	}
	for ; j < len(after); j++ {
		script = append(script, "+ "+after[j])
	}
	return script
}
