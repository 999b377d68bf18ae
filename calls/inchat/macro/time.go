package macro

import (
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/prompt"
)

func chineseWeekday(t time.Time) string {
	return [...]string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}[t.Weekday()]
}

// timeUTC returns the local time moved by some hours, as presets mean
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
	return prompt.Strftime(r.Now, format)
}
