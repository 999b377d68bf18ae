package replay

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"no recording of this request in %s, and there is no such file; the request was:\n%s":        "%s 中没有此请求的录制内容，该文件不存在；请求如下：\n%s",
	"no recording of this request in %s, which is empty; the request was:\n%s":                   "%s 中没有此请求的录制内容，文件是空的；请求如下：\n%s",
	"no recording of this request in %s; the nearest is recording %d (- recorded, + asked):\n%s": "%s 中没有此请求的录制内容；最接近的是第 %d 个（- 已录制，+ 本次请求）：\n%s",
	"record it: run once in mode auto or record with a provider that can answer":                 "请录制它：用能回答的服务商以 auto 或 record 模式运行一次",
})
