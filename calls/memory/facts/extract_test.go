package facts

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var may = time.Date(2025, 5, 1, 12, 0, 0, 0, time.UTC)

// describe writes facts as "subject attribute [topic] value kind from".
func describe(list []Fact) string {
	var lines []string
	for _, f := range list {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s = %s (%s %s)", f.Subject, f.Attribute, f.Topic, f.Value, f.Kind, f.From.Format("2006-01-02"))), " "))
	}
	return strings.Join(lines, "; ")
}

func TestExtract(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{text: "I just relocated to Porto.", want: "self home = Porto (change 2025-05-01)"},
		{text: "I left Maersk and joined Siemens.", want: "self work = Maersk (end 2025-05-01); self work = Siemens (change 2025-05-01)"},
		{text: "The thesis deadline got extended to 17 June.", want: "self noun deadlin thesi = 17 June (change 2025-05-01)"},
		{text: "我上个月搬到了佛山", want: "self home = 佛山 (change 2025-04-01)"},
		{text: "年会改到1月28日了", want: "self noun 年会 = 1月28日 (change 2025-05-01)"},
		{text: "If I moved to Rome, I'd live in Trastevere.", want: ""},
		{text: "Do I live in Rome?", want: ""},
	} {
		r := Extract(&Text{Content: test.text, Role: "user", Time: may})
		if got := describe(r.Facts); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}
