package pgdb

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s the %s in %s: %w":   "%s%s（位于 %s）：%w",
	"failed to connect: %s": "无法连接：%s",
	"opening":               "打开",
	"closing":               "关闭",
	"reading":               "读取",
	"checking":              "检查",
	"shrinking":             "压缩",
	"writing to":            "写入",
	"journal":               "日志",
	"memory store":          "记忆存储",
	"a newer version of the program has changed its tables (schema version %d; this program knows versions up to %d)": "更新版本的程序已改动其中的表（结构版本 %d；本程序最高支持 %d）",
	"check that the server runs and that this machine can reach it, then try again; what was stored before is safe":   "请确认服务器正在运行且本机可以访问它，然后重试；之前保存的内容是安全的",
	"check the user and the password in the URL, and pg_hba.conf of the server":                                       "请检查 URL 中的用户名和密码，以及服务器的 pg_hba.conf",
	"create it with: createdb %s, or correct the URL":                                                                 "请用 createdb %s 创建它，或更正 URL",
	"create the schema that search_path in the URL names, or leave search_path out":                                   "请创建 URL 中 search_path 所指的 schema，或去掉 search_path",
	"grant the user of the URL the right to create and change tables: GRANT CREATE, USAGE ON SCHEMA public TO USER":   "请授予 URL 中的用户创建和更改表的权限：GRANT CREATE, USAGE ON SCHEMA public TO USER",
	"raise max_connections of the server, or put PgBouncer in front of it":                                            "请调大服务器的 max_connections，或在其前面使用 PgBouncer",
	"%w: %w":                               "%w：%w",
	"the URL of the database is not valid": "数据库的 URL 无效",
	"the migration %s has no number":       "迁移 %s 没有编号",
	"the schema does not exist":            "该 schema 不存在",
	"the server has no space left: free some and try again; what was stored before is safe":                                           "服务器已没有空间：请释放一些后重试；之前保存的内容是安全的",
	"use that version of the program, or another database":                                                                            "请使用那个版本的程序，或换一个数据库",
	"write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require; special characters of the password are written as %%XX": "请写成 postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require；密码中的特殊字符写作 %%XX",
	"the database": "数据库",
})
