package wording

import (
	"errors"
	"fmt"
	"testing"
)

type localError Text

func (e localError) Error() string             { return e.En }
func (e localError) In(language string) string { return Text(e).In(language) }

func TestSay(t *testing.T) {
	c := Catalog{"%s has no %q": "%[2]q 不在%[1]s中", "reading: %w": "读取：%w"}
	inner := localError{"there is no file", "没有这个文件"}
	for name, tt := range map[string]struct{ got, want Text }{
		"known":        {c.Say("%s has no %q", Text{"a list", "列表"}, "x"), Text{`a list has no "x"`, `"x" 不在列表中`}},
		"unknown":      {c.Say("%d left", 2), Text{"2 left", "2 left"}},
		"error":        {c.Say("reading: %w", inner), Text{"reading: there is no file", "读取：没有这个文件"}},
		"wrapped":      {c.Say("reading: %w", fmt.Errorf("a.txt: %w", inner)), Text{"reading: a.txt: there is no file", "读取：a.txt: 没有这个文件"}},
		"joined":       {OfError(errors.Join(errors.New("x"), inner)), Text{"x\nthere is no file", "x\n没有这个文件"}},
		"same":         {c.Say("%s has no %q", Same("a"), "b"), Text{`a has no "b"`, `"b" 不在a中`}},
		"error inside": {OfError(errors.New("x")), Text{"x", "x"}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", name, tt.got, tt.want)
		}
	}
	for language, want := range map[string]bool{"zh": true, "zh-CN": true, "ZH_TW": true, "en": false, "zhuang": false, "": false} {
		if IsChinese(language) != want {
			t.Errorf("%s: got %t", language, !want)
		}
	}
}
