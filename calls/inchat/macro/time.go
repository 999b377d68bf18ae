package macro

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func chineseWeekday(t time.Time) string {
	return [...]string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}[t.Weekday()]
}

// timeUTC is the local time moved by some hours, as presets mean
// time_utc+8; anything else than a number of hours moves nothing.
func (r *run) timeUTC(hours string) string {
	h, err := strconv.Atoi(strings.TrimSpace(hours))
	if err != nil || h < -1000 || h > 1000 {
		h = 0
	}
	return r.Now.Add(time.Duration(h) * time.Hour).Format("15:04:05")
}

func (r *run) datetimeformat(_ *call, param string) string {
	format := strings.TrimSpace(param)
	if format == "" {
		format = "%Y-%m-%d %H:%M:%S"
	}
	return strftime(r.Now, format)
}

// strftime formats a time by the directives of C. Those it does not know stay as
// they are.
func strftime(t time.Time, format string) string {
	layouts := map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM",
		'A': "Monday", 'a': "Mon", 'B': "January", 'b': "Jan", 'h': "Jan", 'e': "_2", 'Z': "MST", 'z': "-0700",
		'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'X': "15:04:05",
		'c': "Mon Jan _2 15:04:05 2006",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch c := format[i]; c {
		case '%':
			b.WriteByte('%')
		case 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case 'f':
			fmt.Fprintf(&b, "%06d", t.Nanosecond()/1000)
		case 'w':
			b.WriteString(strconv.Itoa(int(t.Weekday())))
		case 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		default:
			if layout := layouts[c]; layout != "" {
				b.WriteString(t.Format(layout))
			} else {
				b.WriteString(format[i-1 : i+1])
			}
		}
	}
	return b.String()
}
