package wording

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Recognize returns the message of a sentence that a library has made in English; ok is false for any other
// sentence, which stays unchanged. It is for the last step before the reader: the program's own messages know
// their languages.
func Recognize(sentence string) (message Text, ok bool) {
	return recognizeForm(sentence, func(form) bool { return true })
}

// recognizeWhole is Recognize of an error that may have another one in it: only a form that
// begins with a text of its own is sure to be meant.
func recognizeWhole(sentence string) (message Text, ok bool) {
	return recognizeForm(sentence, func(f form) bool { return f.hasBeginning })
}

func recognizeForm(sentence string, isWanted func(form) bool) (message Text, ok bool) {
	for _, f := range compiledForms() {
		if !isWanted(f) {
			continue
		}
		found := f.pattern.FindStringSubmatch(sentence)
		if found == nil {
			continue
		}
		parts := make([]any, len(f.verbs))
		for i, part := range found[1:] {
			switch f.verbs[i] {
			case 'v':
				part = RecognizeOr(part).Zh
			case 'T':
				part = TypeName(part).Zh
			}
			parts[i] = part
		}
		return Text{sentence, fmt.Sprintf(f.chinese, parts...)}, true
	}
	return Same(sentence), false
}

// RecognizeOr is Recognize with [Of] for any other sentence.
func RecognizeOr(sentence string) Text {
	if text, ok := Recognize(sentence); ok {
		return text
	}
	return Of(sentence)
}

// form is one of [libraryForms] as a pattern, with the verbs of its variable parts.
type form struct {
	pattern *regexp.Regexp
	verbs   []byte
	chinese string
	// hasBeginning is true if it begins with a fixed part.
	hasBeginning bool
}

var formVerb = regexp.MustCompile(`%[sqvT]`)

var compiledForms = sync.OnceValue(func() []form {
	chineseVerb := regexp.MustCompile(`%(\[\d\])?[vT]`)
	forms := make([]form, len(libraryForms))
	for i, text := range libraryForms {
		f := &forms[i]
		f.hasBeginning = !strings.HasPrefix(text.En, "%")
		pattern := formVerb.ReplaceAllStringFunc(regexp.QuoteMeta(text.En), func(verb string) string {
			f.verbs = append(f.verbs, verb[1])
			switch verb {
			case "%q":
				return `("(?:[^"\\]|\\.)*")`
			case "%T":
				return `(\w+)`
			}
			return `(.+?)`
		})
		f.pattern = regexp.MustCompile(`^(?s:` + pattern + `)\s*$`)
		f.chinese = chineseVerb.ReplaceAllString(text.Zh, "%${1}s")
	}
	return forms
})

// libraryForms are the sentences of libraries that reach people. %s matches a variable part and keeps it, %q for a
// text in quotes, %v for a sentence of another library, %T for the name of a type. The first one that fits counts.
var libraryForms = []Text{
	// Flags and arguments of the command line: pflag and cobra.
	{"unknown flag: --%s", "没有选项 --%s"},
	{"unknown shorthand flag: %s in -%s", "没有短选项 %s（位于 -%s）"},
	{"flag needs an argument: %s in -%s", "选项 %s 缺少值（位于 -%s）"},
	{"flag needs an argument: --%s", "选项 --%s 缺少值"},
	{"invalid argument %q for %q flag: %v", "%[1]s 不能作为选项 %[2]s 的值：%[3]v"},
	{"bad flag syntax: %s", "选项的写法不对：%s"},
	{"unknown command %q for %q\n\nDid you mean this?\n%s", "%[2]s 没有命令 %[1]s\n\n是否想写：\n%[3]s"},
	{"unknown command %q for %q", "%[2]s 没有命令 %[1]s"},
	{"invalid argument %q for %q\n\nDid you mean this?\n%s", "%[2]s 不接受参数 %[1]s\n\n是否想写：\n%[3]s"},
	{"invalid argument %q for %q", "%[2]s 不接受参数 %[1]s"},
	{"requires at least %s arg(s), only received %s", "至少需要 %s 个参数，实有 %s 个"},
	{"accepts at most %s arg(s), received %s", "最多接受 %s 个参数，实有 %s 个"},
	{"accepts between %s and %s arg(s), received %s", "接受 %s 至 %s 个参数，实有 %s 个"},
	{"accepts %s arg(s), received %s", "应有 %s 个参数，实有 %s 个"},
	{"required flag(s) %s not set", "缺少必填的选项 %s"},
	{"if any flags in the group [%s] are set they must all be set; missing [%s]", "选项 %s 须一起给出；缺少 %s"},
	{"at least one of the flags in the group [%s] is required", "选项 %s 中至少要有一个"},
	{"if any flags in the group [%s] are set none of the others can be; [%s] were all set", "选项 %s 只能给出一个；同时给出了 %s"},
	// Values: strconv, time and encoding/json.
	{"strconv.%s: parsing %q: invalid syntax", "%[2]s 的写法不对"},
	{"strconv.%s: parsing %q: value out of range", "%[2]s 超出范围"},
	{"time: invalid duration %q", "%s 不是时长（可用 30s 或 5m）"},
	{"time: unknown unit %q in duration %q", "时长 %[2]s 的单位 %[1]s 不可用（可用 30s 或 5m）"},
	{"time: missing unit in duration %q", "时长 %s 没有单位（可用 30s 或 5m）"},
	{"unexpected end of JSON input", "JSON 提前结束"},
	{"invalid character %s looking for beginning of value", "此处应是一个值，却是字符 %s"},
	{"invalid character %s looking for beginning of object key string", "此处应是对象的键，却是字符 %s"},
	{"invalid character %s after object key:value pair", "对象的成员之后是字符 %s"},
	{"invalid character %s after object key", "对象的键之后是字符 %s"},
	{"invalid character %s after array element", "数组的元素之后是字符 %s"},
	{"invalid character %s after top-level value", "值之后还有字符 %s"},
	{"invalid character %s in string literal", "字符串中有字符 %s"},
	{"invalid character %s in literal %s", "字面量中有字符 %s（%s）"},
	// Values: hujson.
	{"invalid character %s after object value (expecting ',' or '}')", "对象的成员之后是字符 %s，应为 ',' 或 '}'"},
	{"invalid character %s after object name", "对象的键之后是字符 %s，应为 ':'"},
	{"invalid character %s after array value (expecting ',' or ']')", "数组的元素之后是字符 %s，应为 ',' 或 ']'"},
	{"invalid character %s at start of object name", "此处应是对象的键，却是字符 %s"},
	{"invalid character %s at start of value", "此处应是一个值，却是字符 %s"},
	{"invalid character %s in line comment", "注释中有字符 %s"},
	{"invalid literal: %s", "字面量不对：%s"},
	{"invalid UTF-8 in comment", "注释不是 UTF-8"},
	{"json: cannot unmarshal %T into Go value of type %s", "不能是%[1]T"},
	{"json: cannot unmarshal %T into Go struct field %s of type %s", "%[2]s 不能是%[1]T"},
	// The faults of a request: huma.
	{"validation failed", "请求的内容不符合要求"},
	{"unexpected error occurred", "发生了意外错误"},
	{"request body is required", "请求缺少内容"},
	{"request body is too large limit=%s bytes", "请求的内容过大（上限 %s 字节）"},
	{"request body read timeout", "读取请求的内容超时"},
	{"unable to marshal response", "无法写出响应"},
	{"unknown content type: %s", "不支持的内容类型：%s"},
	{"unknown content type", "不支持的内容类型"},
	{"unknown accept content type: %s", "没有客户端接受的内容类型：%s"},
	{"unknown accept content type", "没有客户端接受的内容类型"},
	{"unknown query parameter", "没有这个查询参数"},
	{"required %s parameter is missing", "缺少必填的 %s 参数"},
	{"expected at most one value, but received multiple values", "最多一个值，却给出了多个"},
	{"invalid integer", "不是整数"},
	{"invalid float", "不是数字"},
	{"invalid boolean", "不是布尔值（可用 true 或 false）"},
	{"invalid date/time for format %s", "不是格式为 %s 的日期时间"},
	{"unsupported type", "不支持的类型"},
	{"unparsable value", "无法理解的值"},
	{"unexpected property", "没有这个属性"},
	{"expected string to be RFC 3339 date-time", "应为 RFC 3339 的日期时间（2026-05-06T07:08:09Z）"},
	{"expected string to be RFC 3339 date", "应为 RFC 3339 的日期（2026-05-06）"},
	{"expected string to be RFC 3339 time", "应为 RFC 3339 的时间（07:08:09Z）"},
	{"expected string to be RFC 4122 uuid: %v", "应为 UUID：%v"},
	{"expected string to be RFC 3986 uri: %v", "应为 URI：%v"},
	{"expected string to be regex: %v", "应为正则表达式：%v"},
	{"expected string to be base64 encoded", "应为 base64 编码的字符串"},
	{"expected string to match pattern %s", "应为符合模式 %s 的字符串"},
	{"expected string to be %s", "应为 %s 形式的字符串"},
	{"expected value to match at least one schema but matched none", "不符合任何一个 schema"},
	{"expected value to match exactly one schema but matched none", "应恰好符合一个 schema，实际都不符合"},
	{"expected value to match exactly one schema but matched multiple", "应恰好符合一个 schema，实际符合多个"},
	{"expected value to not match schema", "不应符合该 schema"},
	{"expected duration: %v", "应为时长：%v"},
	{"expected array items to be unique", "数组的项不能相同"},
	{`expected value to be one of "%s"`, `应为以下之一：%s`},
	{"expected number >= %s", "应为不小于 %s 的数字"},
	{"expected number > %s", "应为大于 %s 的数字"},
	{"expected number <= %s", "应为不大于 %s 的数字"},
	{"expected number < %s", "应为小于 %s 的数字"},
	{"expected number to be a multiple of %s", "应为 %s 的倍数"},
	{"expected length >= %s", "长度至少为 %s"},
	{"expected length <= %s", "长度最多为 %s"},
	{"expected array length >= %s", "数组至少要有 %s 项"},
	{"expected array length <= %s", "数组最多 %s 项"},
	{"expected object with at least %s properties", "对象至少要有 %s 个成员"},
	{"expected object with at most %s properties", "对象最多 %s 个成员"},
	{"expected required property %s to be present", "缺少必填属性 %s"},
	{"expected property %s to be present when %s is present", "有属性 %[2]s 时也须有属性 %[1]s"},
	{"expected %T", "应为%T"},
	// The network: net, net/http, crypto/tls and crypto/x509. The system's own message stays in brackets.
	{"dial tcp: lookup %s on %s: no such host", "没有主机 %s（DNS 服务器 %s）"},
	{"dial tcp: lookup %s: no such host", "没有主机 %s"},
	{"dial tcp: lookup %s on %s: server misbehaving", "无法查到主机 %s（DNS 服务器 %s 出错）"},
	{"dial tcp: lookup %s: i/o timeout", "查找主机 %s 超时"},
	{"dial tcp: lookup %s: %v", "无法查到主机 %s（%v）"},
	{"lookup %s on %s: no such host", "没有主机 %s（DNS 服务器 %s）"},
	{"lookup %s: no such host", "没有主机 %s"},
	{"dial tcp %s: connect: connection refused", "%s 拒绝连接"},
	{"dial tcp %s: i/o timeout", "连接 %s 超时"},
	{"dial tcp %s: connect: %v", "无法连接 %s（%v）"},
	{"dial unix %s: connect: %v", "无法连接 %s（%v）"},
	{"address %s: missing port in address", "地址 %s 缺少端口"},
	{"address %s: too many colons in address", "地址 %s 的冒号过多"},
	{"dial tcp %s: operation was canceled", "连接 %s 时被取消"},
	{"listen tcp %s: bind: address already in use", "地址 %s 已被占用"},
	{"listen tcp %s: bind: %v", "无法监听 %s（%v）"},
	{"listen tcp: lookup %s: %v", "无法查到主机 %s（%v）"},
	{"read tcp %s->%s: read: connection reset by peer", "连接被 %[2]s 重置"},
	{"read tcp %s->%s: i/o timeout", "等待 %[2]s 的应答超时"},
	{"write tcp %s->%s: write: broken pipe", "%[2]s 已断开连接"},
	{"net/http: TLS handshake timeout", "TLS 握手超时"},
	{"net/http: timeout awaiting response headers", "等待应答超时"},
	{"http: server gave HTTP response to HTTPS client", "服务器对 HTTPS 请求作出了 HTTP 应答"},
	{"context deadline exceeded (Client.Timeout exceeded while awaiting headers)", "等待应答超时"},
	{"net/http: HTTP/1.x transport connection broken: %v", "应答无法读懂：%v"},
	{"malformed HTTP response %q", "不是 HTTP 应答：%s"},
	{"malformed HTTP status code %q", "HTTP 状态码不对：%s"},
	{"malformed HTTP version %q", "HTTP 版本不对：%s"},
	{"http: server replied with more than declared Content-Length; truncated", "应答比声明的更长"},
	{"unsupported protocol scheme %q", "不支持协议 %s"},
	{"parse %q: %v", "网址 %s：%v"},
	{"invalid port %q after host", "主机后的端口 %s 不对"},
	{"invalid URL escape %q", "网址中的转义 %s 不对"},
	{"invalid character %q in host name", "主机名中有字符 %s"},
	{"first path segment in URL cannot contain colon", "网址的第一段不能含有冒号"},
	{"net/url: invalid control character in URL", "网址中有控制字符"},
	{"illegal base64 data at input byte %s", "第 %s 个字节起不是 base64"},
	{"error parsing regexp: %s", "正则表达式有误：%s"},
	{"exit status %s", "退出码 %s"},
	{"signal: %s (core dumped)", "信号 %s（已转储内存）"},
	{"signal: %s", "信号 %s"},
	{"tls: first record does not look like a TLS handshake", "服务器不使用 TLS"},
	{"tls: server selected unsupported protocol version %s", "服务器的 TLS 版本不受支持（%s）"},
	{"tls: failed to find any PEM data in certificate input", "证书文件中没有 PEM 数据"},
	{"tls: failed to find any PEM data in key input", "密钥文件中没有 PEM 数据"},
	{"tls: private key does not match public key", "密钥与证书不匹配"},
	{"remote error: tls: %s", "服务器拒绝 TLS 连接（%s）"},
	{"tls: failed to verify certificate: %v", "证书未通过验证：%v"},
	{"x509: certificate signed by unknown authority", "证书由未知的机构签发"},
	{"x509: certificate has expired or is not yet valid: %s", "证书已过期或尚未生效（%s）"},
	{"x509: cannot validate certificate for %s because it doesn't contain any IP SANs", "证书没有 IP 地址，无法用于 %s"},
	{"x509: certificate relies on legacy Common Name field, use SANs instead", "证书只有旧的 Common Name，没有 SAN"},
	{"x509: certificate is not authorized to sign other certificates", "证书无权签发其他证书"},
	{"x509: certificate specifies an incompatible key usage", "证书的用途不符"},
	{"x509: too many intermediates for path length constraint", "中间证书过多"},
	{"x509: issuer name does not match subject from issuing certificate", "签发者与签发证书的主体不符"},
	{"x509: failed to load system roots and no roots provided", "没有系统的根证书"},
	{"x509: certificate is valid for %s, not %s", "证书属于 %s，而不是 %s"},
	{"x509: %s", "证书有误（%s）"},
	// SQLite.
	{"database or disk is full (%s)", "数据库或磁盘已满（%s）"},
	{"disk I/O error (%s)", "磁盘读写出错（%s）"},
	{"database is locked (%s)", "数据库被锁定（%s）"},
	{"attempt to write a readonly database (%s)", "数据库只读，无法写入（%s）"},
	{"file is not a database (%s)", "文件不是数据库（%s）"},
	{"database disk image is malformed (%s)", "数据库文件已损坏（%s）"},
	{"unable to open database file (%s)", "无法打开数据库文件（%s）"},
	// The names of statuses: net/http.
	{"Bad Request", "请求有误"},
	{"Unauthorized", "未登录"},
	{"Forbidden", "没有权限"},
	{"Not Found", "不存在"},
	{"Method Not Allowed", "不支持这个方法"},
	{"Not Acceptable", "没有客户端接受的内容类型"},
	{"Request Timeout", "请求超时"},
	{"Conflict", "有冲突"},
	{"Precondition Failed", "前提条件不成立"},
	{"Request Entity Too Large", "请求的内容过大"},
	{"Unsupported Media Type", "不支持的内容类型"},
	{"Unprocessable Entity", "请求的内容无法处理"},
	{"Precondition Required", "缺少前提条件"},
	{"Too Many Requests", "请求过多"},
	{"Internal Server Error", "服务器内部错误"},
	{"Bad Gateway", "上游出错"},
	{"Service Unavailable", "服务暂不可用"},
	{"Gateway Timeout", "上游超时"},
}
