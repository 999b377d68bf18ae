package wording

import (
	"slices"
	"strings"
	"testing"
)

func TestRecognize(t *testing.T) {
	for sentence, want := range map[string]string{
		"unknown flag: --nope": "没有选项 --nope",
		"unknown command \"rum\" for \"scheduler\"\n\nDid you mean this?\n\trun\n\truns\n": "\"scheduler\" 没有命令 \"rum\"\n\n是否想写：\n\trun\n\truns",
		`unknown command "x" for "scheduler run"`:                                          `"scheduler run" 没有命令 "x"`,
		"accepts 1 arg(s), received 2":                                                     "应有 1 个参数，实有 2 个",
		`required flag(s) "lang" not set`:                                                  `缺少必填的选项 "lang"`,
		"if any flags in the group [record replay] are set none of the others can be; [record replay] were all set": "选项 record replay 只能给出一个；同时给出了 record replay",
		`invalid argument "x" for "-n, --limit" flag: strconv.ParseInt: parsing "x": invalid syntax`:                `"x" 不能作为选项 "-n, --limit" 的值："x" 的写法不对`,
		`invalid argument "x for y" for "--limit" flag: strconv.ParseInt: parsing "x for y": value out of range`:    `"x for y" 不能作为选项 "--limit" 的值："x for y" 超出范围`,
		`invalid argument "5x" for "--wait" flag: time: unknown unit "x" in duration "5x"`:                          `"5x" 不能作为选项 "--wait" 的值：时长 "5x" 的单位 "x" 不可用（可用 30s 或 5m）`,
		`invalid argument "5x" for "--wait" flag: this library is new`:                                              `"5x" 不能作为选项 "--wait" 的值：this library is new`,
		"expected string":                    "应为字符串",
		`expected value to be one of "a, b"`: "应为以下之一：a, b",
		"Not Found":                          "不存在",
		"dial tcp 127.0.0.1:9: connect: connection refused":                                "127.0.0.1:9 拒绝连接",
		"dial tcp 10.0.0.1:80: connect: no route to host":                                  "无法连接 10.0.0.1:80（no route to host）",
		"dial tcp: lookup nope.invalid on 10.2.5.53:53: no such host":                      "没有主机 nope.invalid（DNS 服务器 10.2.5.53:53）",
		"read tcp 1.2.3.4:5->6.7.8.9:443: read: connection reset by peer":                  "连接被 6.7.8.9:443 重置",
		"tls: failed to verify certificate: x509: certificate signed by unknown authority": "证书未通过验证：证书由未知的机构签发",
		"database or disk is full (13)":                                                    "数据库或磁盘已满（13）",
	} {
		if got, ok := Recognize(sentence); !ok || got != (Text{sentence, want}) {
			t.Errorf("%q: got %q, %v, want %q", sentence, got.Zh, ok, want)
		}
	}
	for _, sentence := range []string{"", "something else", "unknown flag:"} {
		if got, ok := Recognize(sentence); ok || got != Same(sentence) {
			t.Errorf("%q is recognised as %q", sentence, got.Zh)
		}
	}
}

// Every form is recognised, has a place in Chinese for all it takes, and is hidden by none
// above it.
func TestLibraryForms(t *testing.T) {
	for i, f := range libraryForms {
		sentence := strings.NewReplacer("%s", "12", "%q", `"12"`, "%v", "x: y", "%T", "string").Replace(f.En)
		got, ok := Recognize(sentence)
		if !ok || strings.Contains(got.Zh, "%") {
			t.Errorf("%q: got %q, %v", sentence, got.Zh, ok)
		}
		first := slices.IndexFunc(compiledForms(), func(c form) bool { return c.pattern.MatchString(sentence) })
		if first != i {
			t.Errorf("%q is taken for %q", sentence, libraryForms[first].En)
		}
	}
}
