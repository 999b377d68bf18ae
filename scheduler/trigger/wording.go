package trigger

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"Standard Webhooks secrets are whsec_ and base64": "Standard Webhooks 的密钥是 whsec_ 加 base64",
	"set the clocks": "请校准时钟",
	"the request is too old, or from the future":        "请求的时间太早，或在未来",
	"the request lacks webhook-id or webhook-timestamp": "请求缺少 webhook-id 或 webhook-timestamp",
	"the secret of the webhook is not base64":           "webhook 的密钥不是 base64",
	"the secret of the webhook is not set":              "webhook 的密钥没有设置",
	"the signature of the request is missing or wrong":  "请求的签名缺失或错误",
	"the zone Local is another zone on every machine":   "时区 Local 在每台机器上都不同",
	"unknown name":                  "未知的名称",
	"it never fires":                "它永远不会触发",
	"the %s cannot be %q: it is %s": "%s 不能是 %q：应为 %s",
	"a cron expression has 5 fields, not %d: minute, hour, day, month, weekday": "cron 表达式有 5 个字段，不是 %d 个：分、时、日、月、星期",
})
