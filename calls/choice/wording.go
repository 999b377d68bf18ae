package choice

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%q and %q are both the default":                      "%q 和 %q 都是默认分支",
	"duplicate branch %q":                                 "分支 %q 重复",
	"it is the only one left":                             "只剩这一个",
	"its condition is true":                               "条件成立",
	"no condition is true":                                "没有成立的条件",
	"the default: %s":                                     "默认分支：%s",
	"the model named none of the branches":                "模型没有选出任何分支",
	`%s, and none of the choices %s is the default`:       `%s，且选项 %s 中没有默认分支`,
	`add a choice with default: true`:                     `添加一个带 default: true 的选项`,
	`choices/%d: %w`:                                      `choices/%d：%w`,
	`give it when, or make it the default: default: true`: `写上 when，或将其设为默认分支：default: true`,
	`give question, or values`:                            `请给出 question 或 values`,
	`the branch %q has no condition`:                      `分支 %q 没有条件`,
	`the default branch %q is taken: %s`:                  `改走默认分支%q：%s`,
	`there is nothing to decide about: neither question nor values are given, and the run has no question`: `没有可供判断的内容：未给出 question 和 values，运行也没有问题`,
})
