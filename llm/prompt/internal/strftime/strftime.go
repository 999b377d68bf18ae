// Package strftime formats times as C's strftime does, for example %Y-%m-%d as 2024-05-01.
package strftime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Format formats a time by the directives of C's strftime. Unknown ones stay unchanged. Flags may come between %
// and a directive: - drops leading zeros and blanks, _ and 0 pad with blanks and zeros, ^ and # change the case;
// and E or O, which change nothing.
func Format(t time.Time, format string) string {
	var b strings.Builder
	for format != "" {
		before, rest, found := strings.Cut(format, "%")
		b.WriteString(before)
		if !found {
			break
		}
		directive := strings.TrimLeft(rest, "-_0^#")
		flags := rest[:len(rest)-len(directive)]
		if len(directive) > 1 && (directive[0] == 'E' || directive[0] == 'O') {
			directive = directive[1:]
		}
		if directive == "" {
			b.WriteString("%" + rest)
			break
		}
		format = directive[1:]
		text, ok := formatDirective(t, directive[0])
		if !ok {
			b.WriteString("%" + rest[:len(rest)-len(format)])
			continue
		}
		b.WriteString(applyFlags(text, flags, directive[0]))
	}
	return b.String()
}

// layouts are the directives that Go's package time has too.
var layouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'P': "pm",
	'A': "Monday", 'a': "Mon", 'B': "January", 'b': "Jan", 'h': "Jan", 'e': "_2", 'Z': "MST", 'z': "-0700",
	'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'X': "15:04:05",
	'c': "Mon Jan _2 15:04:05 2006", 'r': "03:04:05 PM",
}

// formatDirective formats a time by one directive; ok is false if it is not known.
func formatDirective(t time.Time, directive byte) (text string, ok bool) {
	if layout, ok := layouts[directive]; ok {
		return t.Format(layout), true
	}
	isoYear, isoWeek := t.ISOWeek()
	weekday := int(t.Weekday())
	switch directive {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay()), true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1), true
	case 'w':
		return strconv.Itoa(weekday), true
	case 'u':
		return strconv.Itoa((weekday+6)%7 + 1), true
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100), true
	case 'G':
		return strconv.Itoa(isoYear), true
	case 'g':
		return fmt.Sprintf("%02d", isoYear%100), true
	case 'V':
		return fmt.Sprintf("%02d", isoWeek), true
	case 'U': // weeks that begin on Sunday
		return fmt.Sprintf("%02d", (t.YearDay()+6-weekday)/7), true
	case 'W': // weeks that begin on Monday
		return fmt.Sprintf("%02d", (t.YearDay()+6-(weekday+6)%7)/7), true
	}
	return "", false
}

func applyFlags(text, flags string, directive byte) string {
	for _, flag := range flags {
		digits := strings.TrimLeft(text[:len(text)-1], "0 ") + text[len(text)-1:]
		padding := len(text) - len(digits)
		switch flag {
		case '-':
			text = digits
		case '_':
			text = strings.Repeat(" ", padding) + digits
		case '0':
			text = strings.Repeat("0", padding) + digits
		case '^':
			text = strings.ToUpper(text)
		case '#':
			text = strings.ToUpper(text)
			if directive == 'p' || directive == 'Z' {
				text = strings.ToLower(text)
			}
		}
	}
	return text
}
