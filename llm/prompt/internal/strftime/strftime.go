// Package strftime formats times as C's strftime does.
package strftime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Format formats a time by the directives of C's strftime. Those it does not know
// stay as they are; %-d and its like drop leading zeros.
func Format(t time.Time, format string) string {
	layouts := map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM",
		'A': "Monday", 'a': "Mon", 'B': "January", 'b': "Jan", 'h': "Jan", 'e': "_2", 'Z': "MST", 'z': "-0700",
		'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'X': "15:04:05",
		'c': "Mon Jan _2 15:04:05 2006",
	}
	var b strings.Builder
	for format != "" {
		before, rest, found := strings.Cut(format, "%")
		b.WriteString(before)
		if !found {
			break
		}
		directive, short := strings.CutPrefix(rest, "-")
		if directive == "" {
			b.WriteString("%" + rest)
			break
		}
		format = directive[1:]
		text := ""
		switch c := directive[0]; c {
		case '%':
			text = "%"
		case 'j':
			text = fmt.Sprintf("%03d", t.YearDay())
		case 'f':
			text = fmt.Sprintf("%06d", t.Nanosecond()/1000)
		case 'w':
			text = strconv.Itoa(int(t.Weekday()))
		case 's':
			text = strconv.FormatInt(t.Unix(), 10)
		default:
			text = "%" + rest[:len(rest)-len(format)]
			if layouts[c] != "" {
				text = t.Format(layouts[c])
			}
		}
		if short && len(text) > 1 {
			text = strings.TrimLeft(text[:len(text)-1], "0 ") + text[len(text)-1:]
		}
		b.WriteString(text)
	}
	return b.String()
}
