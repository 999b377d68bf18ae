package archive

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s has memories of the user %q, which this export would remove": "%s 中有用户 %q 的记忆，本次导出会删除它们",
	"%s stands beside the context, not in it":                        "%s 在 context 旁边，而不在其中",
	"%s: a line is longer than %d bytes":                             "%s：有一行超过 %d 字节",
	"%s: the path %q is outside":                                     "%s：路径 %q 在目录之外",
	"%s: there is no file %s":                                        "%s：没有文件 %s",
	"column %s: %s":                                                  "第 %s 列：%s",
	"directory":                                                      "目录",
	"exporting memories: %w":                                         "导出记忆：%w",
	"give a directory with memories/, as `memory export` writes it":  "请给出含 memories/ 的目录，即 `memory export` 写出的目录",
	"give another directory, or export everybody's memories":         "请换一个目录，或导出所有人的记忆",
	"importing %s: %w":                                               "导入 %s：%w",
	"importing memories: %w":                                         "导入记忆：%w",
	"it cannot be read; the files are taken as they are":             "无法读取；按文件现状使用",
	"it refers to %s, which is not there":                            "它引用了不存在的 %s",
	"mirroring memories: %w":                                         "同步记忆文件：%w",
	"the memory %s has a line break in its JSON":                     "记忆 %s 的 JSON 中有换行",
	"the mirror of the memory store is behind":                       "记忆库的镜像没有跟上",
	"there are no memories in %s":                                    "%s 中没有记忆",
	`write "context": {"%s": ...}`:                                   `请写 "context": {"%s": ...}`,
})
