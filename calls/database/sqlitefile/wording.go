package sqlitefile

import "github.com/callnode/scheduler/llm/value/wording"

// The messages of this package by their English formats, and the names of the stores.
var _ = wording.Add(wording.Catalog{
	"%s the %s %s: %w":                      "%s%s %s：%w",
	"it is the database of another program": "它是其他程序的数据库",
	"%w: it is empty":                       "%w：它是空的",
	"the file is damaged":                   "文件已损坏",
	"waiting for another process that writes to the file: %w": "等待另一个正在写该文件的进程：%w",
	"opening":             "打开",
	"reading":             "读取",
	"writing to":          "写入",
	"shrinking":           "压缩",
	"closing":             "关闭",
	"checking":            "检查",
	"journal":             "日志",
	"memory store":        "记忆存储",
	"store of the server": "服务器的存储",

	"is missing":                  "不见了",
	"is cut off":                  "被截断",
	"is damaged at its beginning": "开头已损坏",
	"is that of another file":     "属于另一个文件",

	"it was deleted, moved or replaced while it was open":                                                                                  "它在打开期间被删除、移走或替换",
	"a newer version of the program wrote it (schema version %d; this program knows versions up to %d)":                                    "它由更新版本的程序写入（schema 版本 %d；本程序只认识到版本 %d）",
	"it cannot have a write-ahead log, its journal mode stays %q":                                                                          "它不能使用预写日志，其 journal mode 仍为 %q",
	"its write-ahead log %s %s, so that what was written last is lost":                                                                     "它的预写日志 %s %s，最后写入的内容因此丢失",
	"nothing was stored since then: start again, or put the file back; end the programs that have it open before you delete or restore it": "此后没有存储任何内容：请重新开始，或放回该文件；删除或恢复文件之前，先结束正在使用它的程序",

	"another process keeps the file locked: end that process, or try again": "另一个进程锁住了该文件：请结束该进程，或再试一次",
	"check state_dir and its permissions":                                   "请检查 state_dir 及其权限",
	"put the log back beside the file, or restore a backup of both; to go on without what is lost, move %s-wal and %s-shm away, and the file too where it is empty without them": "请把日志放回文件旁边，或恢复两者的备份；若要放弃丢失的内容继续，请移走 %s-wal 和 %s-shm，文件在没有它们时为空的话也一并移走",
	"set state_dir to a local disk: network file systems often cannot share a write-ahead log between processes":                                                                 "请把 state_dir 设为本地磁盘：网络文件系统往往不能在进程间共享预写日志",
	"set state_dir to another directory, or move the file away":                                                                                                                  "请把 state_dir 设为其他目录，或移走该文件",
	"free some space and try again; what was stored before is safe":                                                                                                              "请腾出空间后再试；之前存储的内容是安全的",
	"the disk reports an error: check the disk and its free space, then try again":                                                                                               "磁盘报告错误：请检查磁盘及其剩余空间，然后再试",
	"the file and its directory must be writable, also for reading: check state_dir and its permissions, or copy the files %s* to a writable directory and set state_dir to it":  "该文件及其目录必须可写，读取时也一样：请检查 state_dir 及其权限，或把文件 %s* 复制到可写的目录并将 state_dir 设为该目录",
	"use that version, or set state_dir to another directory":                                                                                                                    "请使用那个版本，或把 state_dir 设为其他目录",
	"damage was found: %s":                             "发现损坏：%s",
	"is there, but not the file %s that it belongs to": "存在，但它所属的文件 %s 不存在",
	"is damaged or cut off after %d pages":             "在第 %d 页之后损坏或被截断",
})
