package openapi

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s cannot be %s": "%s 不能是 %s",
	"%s and %s are both the operation %q: name it as METHOD /path": "%s 和 %s 都是操作 %q：请写成 METHOD /path",
	"%s has the style %q, which is not supported":                  "%s 的 style 是 %q，不受支持",
	"%s has the collectionFormat %q, which is not supported":       "%s 的 collectionFormat 是 %q，不受支持",
	"%s is in %q, which is none of path, query, header and cookie": "%s 的 in 是 %q，不是 path、query、header 或 cookie",
	"a schema is nested deeper than %d":                            "schema 嵌套超过 %d 层",
	"a schema is of type %s":                                       "schema 的类型是 %s",
	"it has more than one body, or a body beside a form":           "它有多个 body，或者 body 与表单并存",
	"it has no name":                   "它没有名称",
	"none of the kinds %s can be sent": "这些类型都不能发送：%s",
	"parameter %d: %w":                 "参数 %d：%w",
	"references lead in a circle":      "引用形成循环",
	"the jsonSchemaDialect %q of the document is unknown; its schemas are read as draft 2020-12":                                                 "文档的 jsonSchemaDialect %q 未知；其中的 schema 按草案 2020-12 读取",
	"the pattern %q of the document is not checked: it cannot be used here (no lookaround, no back references, no repetition of more than 1000)": "文档的 pattern %q 不会检查：此处无法使用（没有环视、没有反向引用、重复不超过 1000 次）",
	"the body: %w": "body：%w",
	"the dialect %q is not supported (use a draft of JSON Schema, such as %s)":                        "不支持方言 %q（请使用 JSON Schema 的某个草案，如 %s）",
	"the document is of version %s; only OpenAPI 3.0 and 3.1 and Swagger 2.0 are read: convert it":    "文档的版本是 %s；只支持 OpenAPI 3.0、3.1 和 Swagger 2.0：请转换",
	"the operation refers to more than %d schemas":                                                    "该操作引用的 schema 超过 %d 个",
	"the reference %q is not read: it must name a file beside the document or below, in JSON or YAML": "引用 %q 未读取：应指向文档旁边或其下的 JSON 或 YAML 文件",
	"there is no operation %q among those that can be read; the path %s cannot: %w":                   "可读取的操作中没有 %q；路径 %s 无法读取：%w",
	"the reference %q names nothing":                                                                  "引用 %q 没有对应的内容",
	"there is no operation %q (there are %s%s)":                                                       "没有操作 %q（可用的有 %s%s）",
	"there is no operation %q%s":                                                                      "没有操作 %q%s",
	"there is no operation %q: the document has none":                                                 "没有操作 %q：文档中没有任何操作",
	"this is not an OpenAPI 3 document: it has no member openapi: 3.x":                                "这不是 OpenAPI 3 文档：没有 openapi: 3.x",
})
