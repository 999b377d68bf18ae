package guard

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%q is not a port: write a number or *":                                       "%q 不是端口：请写数字或 *",
	"%s redirects more than %d times":                                             "%s 的重定向超过 %d 次",
	"%s redirects the request with its body to another host, %s":                  "%s 把带内容的请求重定向到另一个主机 %s",
	"%s%s is not a public host, and requests to it are not allowed":               "%s%s 不是公网主机，不允许向它发请求",
	"if that is right, send it there directly":                                    "如果没有问题，请直接发往那里",
	"the address %s of %s is not understood: %w":                                  "无法理解地址 %s（%s）：%w",
	"the allowed host %q: %w":                                                     "允许的主机 %q：%w",
	"whoever runs this can allow it: http.allow_hosts in scheduler.yaml":          "运行者可以放行：scheduler.yaml 中的 http.allow_hosts",
	"write a name, *.domain, an address or a network, without a scheme or a path": "请写主机名、*.domain、地址或网段，不带协议和路径",
})
