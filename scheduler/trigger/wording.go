package trigger

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"Standard Webhooks secrets are whsec_ and base64":                "Standard Webhooks 的密钥是 whsec_ 加 base64",
	"the body of the request: %w":                                    "请求体：%w",
	"the body of the request: %d:%d: %s":                             "请求体：%d:%d：%s",
	"name its charset: Content-Type: text/plain; charset=iso-8859-1": "请写明字符集：Content-Type: text/plain; charset=iso-8859-1",
	"the body is compressed as %q":                                   "请求体以 %q 压缩",
	"send it plain, or with Content-Encoding: gzip":                  "请不压缩发送，或使用 Content-Encoding: gzip",
	"the body is not gzip, as its Content-Encoding says: %w":         "请求体不是 Content-Encoding 所说的 gzip：%w",
	"unpacking the body: %w":                                         "解压请求体：%w",
	"the body has more than %d bytes, unpacked":                      "解压后的请求体超过 %d 字节",
	"the body is not a form, as its Content-Type says: %w":           "请求体不是 Content-Type 所说的表单：%w",
	"the form has a value that is not UTF-8":                         "表单中有的值不是 UTF-8",
	"the JSON of the body: %w":                                       "请求体的 JSON：%w",
	"the body is written in a way that is not read":                  "无法读取请求体的写法",
	"the body is too large":                                          "请求内容过大",
	"set the clocks":                                                 "请校准时钟",
	"the request is too old, or from the future":                     "请求的时间太早，或在未来",
	"the request lacks webhook-id or webhook-timestamp":              "请求缺少 webhook-id 或 webhook-timestamp",
	"the secret of the webhook is not base64":                        "webhook 的密钥不是 base64",
	"the secret of the webhook is not set":                           "webhook 的密钥没有设置",
	"the signature of the request is missing or wrong":               "请求的签名缺失或错误",
	"the zone Local is another zone on every machine":                "时区 Local 在每台机器上都不同",
	"unknown name":                  "未知的名称",
	"it never fires":                "它永远不会触发",
	"the %s cannot be %q: it is %s": "%s 不能是 %q：应为 %s",
	"a cron expression has 5 fields, not %d: minute, hour, day, month, weekday": "cron 表达式有 5 个字段，不是 %d 个：分、时、日、月、星期",
})
