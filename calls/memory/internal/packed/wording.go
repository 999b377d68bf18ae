package packed

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"a time is %T": "有一个时间的类型是 %T",
	"an older version of the program uses the memories at the same time (analysis %d; this one has %d)": "同时有旧版本的程序在使用这些记忆（其分析版本 %d；本程序为 %d）",
	"end that program and try again": "请结束那个程序后重试",
	"the memories were indexed by a newer version of the program (analysis %d; this one has %d)": "这些记忆由新版本的程序建立索引（其分析版本 %d；本程序为 %d）",
	"use that version": "请使用那个版本",
})
