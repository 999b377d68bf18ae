package fleet

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s (%s was there until %s)":                                      "%s（%s 直到 %s 还在）",
	"%s cannot carry it out: %s":                                      "%s 无法执行它：%s",
	"a worker of the queue %s is about to take it":                    "队列 %s 的 worker 即将接手",
	"all slots of the queue %s are busy (%d of %d)":                   "队列 %s 的名额已全部占用（%d/%d）",
	"it was taken up in vain, and is tried again at %s":               "多次接手均未成功，将于 %s 重试",
	"its user has as many runs at work as one user may (%d)":          "其用户同时执行的运行已达上限（%d）",
	"no machine is there that can carry it out":                       "没有能执行它的机器",
	"a server is about to take it":                                    "服务器即将接手",
	"all slots of the servers are busy (%d of %d)":                    "服务器的名额已全部占用（%d/%d）",
	"no server runs that carries it out":                              "没有能执行它的服务器在运行",
	"process %d on %s":                                                "%[2]s 上的进程 %[1]d",
	"no worker is there for the queue %s":                             "队列 %s 没有 worker",
	"none of the %d workers of the queue %s can carry it out; %s: %s": "队列 %[2]s 的 %[1]d 个 worker 都无法执行它；%[3]s：%[4]s",
})
