package wording

// chineseTypes are the types of JSON Schema.
var chineseTypes = map[string]string{
	"string": "字符串", "integer": "整数", "non-negative integer": "非负整数", "number": "数字", "boolean": "布尔值", "array": "数组", "object": "对象", "null": "空值",
}

// TypeName returns the name of a type of JSON Schema; any other name is the same in all
// languages.
func TypeName(name string) Text {
	if zh, ok := chineseTypes[name]; ok {
		return Text{name, zh}
	}
	return Same(name)
}
