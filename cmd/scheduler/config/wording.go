package config

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%d is not between 1 and %d":                                                        "%d 不在 1 到 %d 之间",
	"%q is not a URL (use https://host/path)":                                           "%q 不是网址（写法如 https://host/path）",
	"no state is named (use %s)":                                                        "没有写明状态（可用 %s）",
	"unknown state %q%s (use %s)":                                                       "未知的状态 %q%s（可用 %s）",
	"%q is not a path (use /name)":                                                      "%q 不是路径（写法如 /name）",
	"%q is not an address (use temporal://HOST:PORT, or local)":                         "%q 不是地址（写法如 temporal://HOST:PORT，或 local）",
	"the heartbeat must be at least 5s: a run is free that long after its process died": "心跳至少为 5s：进程死亡后，运行要过这么久才会释放",
	"the environment variable %s is not set":                                            "没有设置环境变量 %s",
	"%q is not one of llm.providers with embeddings%s":                                  "%q 不是 llm.providers 中带向量的服务商%s",
	"cert and key belong together: give both or neither":                                "cert 和 key 必须成对：同时给出，或都不给",
	"this is not the URL of a Postgres database (use postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %%XX, or local)": "这不是 Postgres 数据库的 URL（写法如 postgres://USER:PASSWORD@HOST:PORT/DATABASE，密码中的特殊字符写作 %%XX；或写 local）",
	"a mirror does not see what other machines save in the store (leave it out, and use scheduler memory export)":                                             "镜像看不到其他机器存入存储的内容（请去掉它，改用 scheduler memory export）",
	"the environment variable %s does not hold %d hexadecimal digits (make a key with openssl rand -hex %d)":                                                  "环境变量 %s 不是 %d 位十六进制数字（可用 openssl rand -hex %d 生成密钥）",
	"in the settings: %w": "设置中：%w",
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
