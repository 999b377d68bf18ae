package config

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%d is not between 1 and %d":                              "%d 不在 1 到 %d 之间",
	"%q is not a URL (use https://host/path)":                 "%q 不是网址（写法如 https://host/path）",
	"no state is named (use %s)":                              "没有写明状态（可用 %s）",
	"unknown state %q%s (use %s)":                             "未知的状态 %q%s（可用 %s）",
	"%q is not a path (use /name)":                            "%q 不是路径（写法如 /name）",
	"%q is not one of llm.providers with embeddings%s":        "%q 不是 llm.providers 中带向量的服务商%s",
	"cert and key belong together: give both or neither":      "cert 和 key 必须成对：同时给出，或都不给",
	"in the settings: %w":                                     "设置中：%w",
	"invalid size %q (use 256MiB, 1GiB or a number of bytes)": "大小 %q 无效（写法如 256MiB、1GiB 或字节数）",
	"invalid size %q (use 8MiB)":                              "大小 %q 无效（写法如 8MiB）",
	"merging the settings: %w":                                "合并设置：%w",
	"no model given (name a model for embeddings)":            "没有给出模型（请指明生成向量的模型）",
	"reading the default settings: %w":                        "读取默认设置：%w",
	"reading the settings %s: %w":                             "读取设置 %s：%w",
	"reading the settings: %w":                                "读取设置：%w",
	"the duration must be more than 0":                        "时长必须大于 0",
	"the environment variable %s: %s":                         "环境变量 %s：%s",
	"the settings are printed by scheduler init --settings":   "scheduler init --settings 打印全部设置",
	"unknown provider %q%s":                                   "未知的服务商 %q%s",
	"the name %q is taken by another provider":                "名称 %q 已被另一个服务商使用",
	"unknown setting %q":                                      "未知的设置 %q",
	"unknown type of provider %q":                             "未知的服务商类型 %q",
	"use one of %s":                                           "可用的有 %s",
})
