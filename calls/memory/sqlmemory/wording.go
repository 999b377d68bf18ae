package sqlmemory

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%w: its index is wrong":                                        "%w：其索引有误",
	"a stored text ends within an escaped byte":                     "存储的文本在转义字节中间结束",
	"a stored text has an escaped byte that is not hexadecimal: %w": "存储的文本含有不是十六进制的转义字节：%w",
	"a text is %T":                            "文本的类型是 %T",
	"bytes are %T":                            "字节的类型是 %T",
	"creating a temporary memory store: %w":   "创建临时记忆库：%w",
	"facts are being read (%d%%)":             "正在读取事实（%d%%）",
	"the facts of memories could not be read": "无法读取记忆中的事实",
	"done": "完成",
	"memories of an older version are indexed again":                                                                             "旧版本的记忆正在重建索引",
	"the %s %.40q... has %d bytes; in Postgres it may have %d":                                                                   "%[1]s %[2].40q... 有 %[3]d 字节；在 Postgres 中最多 %[4]d 字节",
	"the file is damaged: move it away, and import an export or the mirror; what else can be saved, sqlite3 FILE .recover tells": "文件已损坏：请移走该文件，再导入此前的导出或镜像；其余可挽救的内容用 sqlite3 FILE .recover 查看",
	"the index of the memory store in Postgres is wrong":                                                                         "Postgres 中记忆存储的索引有误",
	"the transaction has ended":                                                                                                  "事务已经结束",
	"the user was deleted at the same time":                                                                                      "该用户同时被删除了",
	"use a shorter name, such as a hash of it":                                                                                   "请使用更短的名称，例如它的散列值",
	"run UPDATE memory_user SET analysis = 0 in the database and start the program again, which makes the index from the memories; check the disk of the server": "请在数据库中执行 UPDATE memory_user SET analysis = 0 并重新启动程序，它会从记忆重建索引；并请检查服务器的磁盘",
})
