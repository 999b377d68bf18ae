package compare

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"reading the earlier test runs: %w":                                                           "读取先前的测试运行：%w",
	"there is no test run before this one":                                                        "之前没有运行过测试",
	"run scheduler test once without --against":                                                   "先不带 --against 运行一次 scheduler test",
	"there is no baseline and no file %q":                                                         "没有名为 %q 的基线，也没有这个文件",
	"write one with scheduler test --bless %s":                                                    "用 scheduler test --bless %s 写一个",
	"a baseline cannot be called %q":                                                              "基线不能命名为 %q",
	"use letters, digits, - and _, as in main; last is the run before":                            "请用字母、数字、- 和 _，例如 main；last 指上一次运行",
	"this is not a baseline of scheduler test: %w":                                                "这不是 scheduler test 的基线：%w",
	"the baseline has version %d, and this program reads version %d: write it again with --bless": "基线的版本是 %d，而本程序读取版本 %d：请用 --bless 重新写入",
	"keeping the test run: %w":                                                                    "保存测试结果：%w",
	"reading the last test run: %s: %w":                                                           "读取上次测试结果：%s：%w",
	"reading the last test run: %w":                                                               "读取上次测试结果：%w",
	"writing %s: %w":                                                                              "写入 %s：%w",
	"%s: %w":                                                                                      "%s：%w",
})
