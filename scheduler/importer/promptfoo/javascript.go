package promptfoo

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// errConstant is the error of code that does not look at the answer.
var errConstant = wording.Errorf("it comes out the same for every answer")

// translateCode returns the matchers of an expression of JavaScript, one for each of the conditions that
// && joins. Nothing of the code runs.
func translateCode(code string) ([]*value.Map, error) {
	root, err := parseCode(code)
	if err != nil {
		return nil, err
	}
	var all []*value.Map
	for _, condition := range root.conjuncts() {
		m, err := condition.matcher()
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// parseCode reads the expression that a code is, or returns.
func parseCode(code string) (*scriptNode, error) {
	code = strings.TrimSpace(code)
	for _, prefix := range []string{"output =>", "(output) =>", "(output, context) =>", "return "} {
		code = strings.TrimSpace(strings.TrimPrefix(code, prefix))
	}
	root, err := parseScript(strings.TrimRight(code, "; \n"))
	if err != nil {
		return nil, err
	}
	return root.withoutScores(), nil
}

// withoutScores returns the condition of an expression that gives all or nothing, for example of x ? 1 : 0.
func (n *scriptNode) withoutScores() *scriptNode {
	if n.kind != scriptTernary {
		return n
	}
	condition, then, otherwise := n.args[0].withoutScores(), n.args[1].withoutScores(), n.args[2].withoutScores()
	switch {
	case then.isAll(true) && otherwise.isAll(false):
		return condition
	case then.isAll(false) && otherwise.isAll(true):
		return &scriptNode{kind: scriptNot, args: []*scriptNode{condition}}
	}
	return &scriptNode{kind: scriptTernary, args: []*scriptNode{condition, then, otherwise}}
}

// isAll reports whether a node is the score for all, 1 or true, or for nothing.
func (n *scriptNode) isAll(passes bool) bool {
	number, word := "0", "false"
	if passes {
		number, word = "1", "true"
	}
	return n.kind == scriptNumber && n.text == number || n.kind == scriptName && n.text == word
}

// comparesLoosely reports whether code compares, by == or !=, with a value that may not be a text.
func comparesLoosely(code string) bool {
	root, err := parseCode(code)
	return err == nil && root.comparesLoosely()
}

func (n *scriptNode) comparesLoosely() bool {
	if n.isLoose() && !slices.ContainsFunc(n.args, (*scriptNode).isOutput) {
		return true
	}
	if n.isLoose() && !slices.ContainsFunc(n.args, func(arg *scriptNode) bool { return arg.kind == scriptString }) {
		return true
	}
	return slices.ContainsFunc(n.args, (*scriptNode).comparesLoosely)
}

// isLoose reports whether a node is a comparison that takes values of other types for equal.
func (n *scriptNode) isLoose() bool {
	return n.kind == scriptBinary && (n.text == "==" || n.text == "!=")
}

// conjuncts returns the conditions that && joins.
func (n *scriptNode) conjuncts() []*scriptNode {
	if n.kind == scriptBinary && n.text == "&&" {
		return append(n.args[0].conjuncts(), n.args[1].conjuncts()...)
	}
	return []*scriptNode{n}
}

// matcher returns the matcher of a condition.
func (n *scriptNode) matcher() (*value.Map, error) {
	if m := n.simpleMatcher(); m != nil {
		return m, nil
	}
	if schema, ok := n.jsonSchema(); ok {
		return value.Pairs("schema", schema), nil
	}
	text, kind, err := n.expression()
	if err != nil {
		return nil, err
	}
	if kind != kindBool {
		return nil, errNoEqual
	}
	parsed, err := prompt.ParseExpr(prompt.Source{Text: text}, nil)
	if err != nil {
		return nil, wording.Errorf("the expression %s is not one here: %w", text, err)
	}
	if len(parsed.Refs()) == 0 {
		return nil, errConstant
	}
	return value.Pairs("that", "{{ "+text+" }}"), nil
}

// simpleMatcher returns the matcher of code that has one: output.includes("x"), /x/.test(output), output === "x".
func (n *scriptNode) simpleMatcher() *value.Map {
	if n.kind == scriptBinary && n.text == "===" && n.args[0].isBareOutput() && n.args[1].kind == scriptString {
		return value.Pairs("equals", n.args[1].text)
	}
	on, method, args := n.method()
	if on == nil || len(args) != 1 {
		return nil
	}
	if on.kind == scriptRegex && method == "test" && args[0].isBareOutput() {
		return regexMatcher(on.text)
	}
	fold := false
	if inner, name, none := on.method(); inner != nil && name == "toLowerCase" && len(none) == 0 {
		on, fold = inner, true
	}
	if !on.isOutput() {
		return nil
	}
	arg := args[0]
	isTrimmed := !on.isBareOutput()
	if dependsOnSpace := method != "includes" || arg.text != strings.TrimSpace(arg.text); isTrimmed && dependsOnSpace {
		return nil
	}
	switch {
	case method == "match" && arg.kind == scriptRegex && !fold:
		return regexMatcher(arg.text)
	case arg.kind != scriptString || fold && arg.text != strings.ToLower(arg.text) || arg.text == "":
		return nil
	case method == "includes":
		return folded(value.Pairs("contains", arg.text), fold)
	case method == "startsWith":
		return folded(value.Pairs("starts_with", arg.text), fold)
	}
	return nil
}

func folded(m *value.Map, fold bool) *value.Map {
	if fold {
		m.Set("fold", value.OfBool(true))
	}
	return m
}

// regexMatcher returns the matcher of /pattern/flags; nil if it is not valid in RE2.
func regexMatcher(literal string) *value.Map {
	end := strings.LastIndex(literal, "/")
	pattern, flags := literal[1:end], strings.Trim(literal[end+1:], "gu")
	if strings.Trim(flags, "ims") != "" {
		return nil
	}
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return nil
	}
	return value.Pairs("matches", pattern)
}

// The kinds of values that expressions give.
type scriptKind int

const (
	kindAny scriptKind = iota
	kindBool
	kindText
	kindNumber
	kindInput // a text or a number, as the tests give it
)

// operators are the binary operators, as they are written here, with the kind of their result.
var operators = map[string]struct {
	text string
	kind scriptKind
}{
	"&&": {"and", kindBool}, "||": {"or", kindBool}, "===": {"==", kindBool}, "==": {"==", kindBool}, "!==": {"!=", kindBool}, "!=": {"!=", kindBool},
	">=": {">=", kindBool}, "<=": {"<=", kindBool}, ">": {">", kindBool}, "<": {"<", kindBool}, "-": {"-", kindNumber}, "*": {"*", kindNumber}, "/": {"/", kindNumber}, "%": {"%", kindNumber},
}

// expression returns a node as an expression of templates, in which value is the answer.
func (n *scriptNode) expression() (text string, kind scriptKind, err error) {
	switch n.kind {
	case scriptString:
		return quoteText(n.text), kindText, nil
	case scriptNumber:
		return n.text, kindNumber, nil
	case scriptName:
		return nameExpression(n.text)
	case scriptNot:
		inner, kind, err := n.args[0].expression()
		if err == nil && kind != kindBool {
			err = errNoEqual
		}
		return "(not " + inner + ")", kindBool, err
	case scriptBinary:
		return n.binaryExpression()
	case scriptTernary:
		return n.ternaryExpression()
	case scriptMember:
		return n.memberExpression()
	case scriptCall:
		return n.callExpression()
	default:
		return "", kindAny, errNoEqual
	}
}

func nameExpression(name string) (text string, kind scriptKind, err error) {
	switch name {
	case "output":
		return "value", kindText, nil
	case "true", "false":
		return name, kindBool, nil
	}
	return "", kindAny, errNoEqual
}

func (n *scriptNode) binaryExpression() (text string, kind scriptKind, err error) {
	op, ok := operators[n.text]
	left, leftKind, leftErr := n.args[0].expression()
	right, rightKind, rightErr := n.args[1].expression()
	if err := errors.Join(leftErr, rightErr); err != nil || !ok {
		return "", kindAny, errNoEqual
	}
	isLogical := n.text == "&&" || n.text == "||"
	if isLogical && (leftKind != kindBool || rightKind != kindBool) { // truth is another there
		return "", kindAny, errNoEqual
	}
	isEquality := strings.HasPrefix(op.text, "=") || op.text == "!="
	if !isLogical && !isEquality && (leftKind != kindNumber || rightKind != kindNumber) {
		return "", kindAny, errNoEqual
	}
	if isEquality && (leftKind == kindAny || rightKind == kindAny) { // two lists are never the same there
		return "", kindAny, errNoEqual
	}
	if n.isLoose() && leftKind != rightKind {
		if leftKind == kindBool || rightKind == kindBool {
			return "", kindAny, errNoEqual
		}
		left, right = looseText(left, leftKind), looseText(right, rightKind)
	}
	return "(" + left + " " + op.text + " " + right + ")", op.kind, nil
}

// ternaryExpression translates a condition with two values of one kind.
func (n *scriptNode) ternaryExpression() (text string, kind scriptKind, err error) {
	condition, isBool, conditionErr := n.args[0].expression()
	then, kind, thenErr := n.args[1].expression()
	otherwise, other, otherErr := n.args[2].expression()
	if err := errors.Join(conditionErr, thenErr, otherErr); err != nil || isBool != kindBool || kind != other {
		return "", kindAny, errNoEqual
	}
	return "(" + then + " if " + condition + " else " + otherwise + ")", kind, nil
}

// looseText returns the text of an expression that is compared with one of another kind: they are equal if the
// texts are.
func looseText(text string, kind scriptKind) string {
	if kind == kindText {
		return text
	}
	if kind == kindNumber && strings.Trim(text, "0123456789.") == "" {
		return quoteText(text)
	}
	return "(" + text + " | string)"
}

// memberExpression translates x.length and context.vars.x.
func (n *scriptNode) memberExpression() (text string, kind scriptKind, err error) {
	on := n.args[0]
	isVars := on.kind == scriptMember && on.text == "vars" && on.args[0].kind == scriptName && on.args[0].text == "context"
	if isVars {
		return inputReference(inputName(n.text)), kindInput, nil
	}
	if path, ok := n.jsonPath(); ok && len(path) > 0 && n.text != "length" {
		text = "(value | fromjson)"
		for _, key := range path {
			text += "[" + quoteText(key) + "]"
		}
		return text, kindInput, nil
	}
	inner, kind, err := on.expression()
	if kind == kindInput { // without a length if it is a number
		inner = "(" + inner + " | string)"
	}
	if err != nil || n.text != "length" || kind == kindNumber {
		return "", kindAny, errNoEqual
	}
	return "(" + inner + " | length)", kindNumber, nil
}

// methodKinds are the methods of texts that have an equal, with the kind of their result; @ is the text, # the
// argument.
var methodKinds = map[string]struct {
	text string
	args int
	kind scriptKind
}{
	"includes": {"(# in @)", 1, kindBool}, "startsWith": {"@.startswith(#)", 1, kindBool}, "endsWith": {"@.endswith(#)", 1, kindBool},
	"toLowerCase": {"(@ | lower)", 0, kindText}, "toUpperCase": {"(@ | upper)", 0, kindText}, "trim": {"(@ | trim)", 0, kindText},
	"toString": {"@", 0, kindText}, "indexOf": {"@.find(#)", 1, kindNumber}, "split": {"@.split(#)", 1, kindAny},
}

func (n *scriptNode) callExpression() (text string, kind scriptKind, err error) {
	on, name, args := n.method()
	if on == nil {
		return n.functionExpression()
	}
	m, ok := methodKinds[name]
	inner, innerKind, err := on.textExpression()
	if err != nil || !ok || innerKind != kindText || len(args) != m.args {
		return "", kindAny, errNoEqual
	}
	arg := ""
	if m.args == 1 {
		var argKind scriptKind
		arg, argKind, err = args[0].textExpression()
		if err != nil || argKind != kindText {
			return "", kindAny, errNoEqual
		}
		if name == "split" && args[0].text == "" {
			return "", kindAny, errNoEqual
		}
	}
	return strings.NewReplacer("@", inner, "#", arg).Replace(m.text), m.kind, nil
}

// textExpression is expression for a value that is used as a text, for example an input.
func (n *scriptNode) textExpression() (text string, kind scriptKind, err error) {
	text, kind, err = n.expression()
	if kind == kindInput {
		return "(" + text + " | string)", kindText, err
	}
	return text, kind, err
}

// functionExpression translates Number(output) and its kind.
func (n *scriptNode) functionExpression() (text string, kind scriptKind, err error) {
	isNumber := n.args[0].kind == scriptName && (n.args[0].text == "Number" || n.args[0].text == "parseFloat" || n.args[0].text == "parseInt")
	if !isNumber || len(n.args) < 2 {
		return "", kindAny, errNoEqual
	}
	inner, kind, err := n.args[1].textExpression()
	if err != nil || kind != kindText {
		return "", kindAny, errNoEqual
	}
	filter := "float"
	if n.args[0].text == "parseInt" {
		filter = "int"
	}
	return "(" + inner + " | trim | " + filter + ")", kindNumber, nil
}
