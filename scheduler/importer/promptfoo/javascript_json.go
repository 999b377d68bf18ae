package promptfoo

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// jsonSchema returns the JSON Schema of a condition on JSON.parse(output): on a member of it by a
// comparison with a literal, its length, includes, typeof, Array.isArray, or by its being there.
func (n *scriptNode) jsonSchema() (schema value.Value, ok bool) {
	switch n.kind {
	case scriptBinary:
		return n.comparisonSchema()
	case scriptCall:
		return n.callSchema()
	case scriptMember, scriptIndex: // a value that exists and is truthy
		path, ok := n.jsonPath()
		falsy := value.OfList(value.Value{}, value.OfBool(false), value.OfInt(0), value.OfString(""))
		return wrapSchema(path, value.OfMap(value.Pairs("not", value.Pairs("enum", falsy)))), ok && len(path) > 0
	default:
		return schema, false
	}
}

// jsonPath returns the members from the root of JSON.parse(output) to a node.
func (n *scriptNode) jsonPath() (path []string, ok bool) {
	switch n.kind {
	case scriptMember:
		if n.args[0].isBareOutput() && n.text != "length" { // an answer in JSON is an object there
			return []string{n.text}, true
		}
		path, ok = n.args[0].jsonPath()
		return append(path, n.text), ok
	case scriptIndex:
		if n.args[1].kind != scriptString {
			return nil, false
		}
		path, ok = n.args[0].jsonPath()
		return append(path, n.args[1].text), ok
	case scriptCall:
		on, name, args := n.method()
		isParse := on != nil && on.kind == scriptName && on.text == "JSON" && name == "parse"
		return nil, isParse && len(args) == 1 && args[0].isOutput()
	default:
		return nil, false
	}
}

// wrapSchema puts a schema below the members of a path, which must be there.
func wrapSchema(path []string, leaf value.Value) value.Value {
	for i := len(path) - 1; i >= 0; i-- {
		leaf = value.OfMap(value.Pairs("type", "object", "required", value.OfList(value.OfString(path[i])), "properties", value.OfMap(value.Pairs(path[i], leaf))))
	}
	return leaf
}

// mirrored are the comparisons with their sides changed.
var mirrored = map[string]string{">": "<", "<": ">", ">=": "<=", "<=": ">="}

// comparisonSchema returns the schema of path OP literal, or of typeof path === "kind".
func (n *scriptNode) comparisonSchema() (schema value.Value, ok bool) {
	left, right, op := n.args[0], n.args[1], n.text
	if !right.isLiteral() {
		left, right = right, left
		if other, ok := mirrored[op]; ok {
			op = other
		}
	}
	if !right.isLiteral() {
		return schema, false
	}
	if left.kind == scriptTypeof {
		path, ok := left.args[0].jsonPath()
		kind, known := map[string]string{"string": "string", "number": "number", "boolean": "boolean"}[right.text]
		return wrapSchema(path, value.OfMap(value.Pairs("type", kind))), ok && known && (op == "===" || op == "==")
	}
	if left.kind == scriptMember && left.text == "length" {
		path, ok := left.args[0].jsonPath()
		size, known := lengthSchema(op, right)
		return wrapSchema(path, size), ok && known
	}
	path, ok := left.jsonPath()
	leaf, known := literalSchema(op, right)
	isNull := right.kind == scriptName && right.text == "null"
	isAlsoAbsent := op == "!==" || op == "!=" && !isNull || op == "==" && isNull
	if isAlsoAbsent && len(path) > 0 { // a member that is not there is another value, and loosely null
		last := len(path) - 1
		leaf = value.OfMap(value.Pairs("not", value.Pairs("type", "null"), "properties", value.Pairs(path[last], leaf)))
		path = path[:last]
	}
	return wrapSchema(path, leaf), ok && known
}

func (n *scriptNode) isLiteral() bool {
	isWord := n.kind == scriptName && (n.text == "true" || n.text == "false" || n.text == "null")
	return n.kind == scriptString || n.kind == scriptNumber || isWord
}

// literal returns the value of a literal.
func (n *scriptNode) literal() value.Value {
	if n.kind == scriptString {
		return value.OfString(n.text)
	}
	v, err := value.ParseJSON([]byte(n.text))
	if err != nil {
		return value.OfString(n.text)
	}
	return v
}

// literalSchema returns the schema of a comparison with a literal.
func literalSchema(op string, literal *scriptNode) (schema value.Value, ok bool) {
	want := value.OfMap(value.Pairs("const", literal.literal()))
	if op == "==" || op == "!=" {
		want = value.OfMap(value.Pairs("enum", value.OfList(looselyEqual(literal.literal())...)))
	}
	switch op {
	case "===", "==":
		return want, true
	case "!==", "!=":
		return value.OfMap(value.Pairs("not", want)), true
	}
	keyword := map[string]string{">": "exclusiveMinimum", "<": "exclusiveMaximum", ">=": "minimum", "<=": "maximum"}[op]
	if keyword == "" || literal.kind != scriptNumber {
		return schema, false
	}
	return value.OfMap(value.Pairs("type", "number", keyword, literal.literal())), true
}

// looselyEqual lists the values that == takes for a literal, numbers as they are commonly written.
func looselyEqual(literal value.Value) []value.Value {
	text, isText := literal.Str()
	number, isNumber := literal.Float()
	flag, isBool := literal.Bool()
	switch {
	case isBool && flag:
		number, isNumber = 1, true
	case isBool:
		isNumber = true
	case isText:
		parsed, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		number, isNumber = parsed, err == nil && !math.IsInf(parsed, 0) && !math.IsNaN(parsed)
		if !isNumber {
			return []value.Value{literal}
		}
	}
	if !isNumber {
		return []value.Value{literal}
	}
	written := scriptText(value.OfFloat(number))
	short, err := value.ParseJSON([]byte(written))
	if err != nil {
		short = value.OfFloat(number)
	}
	all := []value.Value{short, value.OfString(written)}
	if isText {
		all[1] = literal
	}
	switch number {
	case 0:
		all = append(all, value.OfBool(false))
	case 1:
		all = append(all, value.OfBool(true))
	}
	return all
}

// lengthSchema returns the schema of a comparison of a length with a whole number.
func lengthSchema(op string, literal *scriptNode) (schema value.Value, ok bool) {
	n, isWhole := literal.literal().Int()
	if !isWhole || n < 0 {
		return schema, false
	}
	least, most := int64(0), int64(-1)
	switch op {
	case "===", "==":
		least, most = n, n
	case ">":
		least = n + 1
	case ">=":
		least = n
	case "<":
		most = n - 1
	case "<=":
		most = n
	default:
		return schema, false
	}
	bounds := value.Pairs("type", value.OfList(value.OfString("array"), value.OfString("string")), "minItems", least, "minLength", least)
	if most >= 0 {
		bounds.Set("maxItems", value.OfInt(most))
		bounds.Set("maxLength", value.OfInt(most))
	}
	return value.OfMap(bounds), op != "<" || n > 0
}

// callSchema returns the schema of path.includes("x") and Array.isArray(path).
func (n *scriptNode) callSchema() (schema value.Value, ok bool) {
	on, name, args := n.method()
	if on == nil || len(args) != 1 {
		return schema, false
	}
	if on.kind == scriptName && on.text == "Array" && name == "isArray" {
		path, ok := args[0].jsonPath()
		return wrapSchema(path, value.OfMap(value.Pairs("type", "array"))), ok
	}
	path, ok := on.jsonPath()
	if !ok || name != "includes" || args[0].kind != scriptString {
		return schema, false
	}
	return wrapSchema(path, value.OfMap(value.Pairs(
		"type", value.OfList(value.OfString("array"), value.OfString("string")),
		"contains", value.Pairs("const", args[0].text), "pattern", regexp.QuoteMeta(args[0].text),
	))), !strings.ContainsAny(args[0].text, "\n\r")
}
