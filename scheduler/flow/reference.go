package flow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// KeyDoc describes a key of flow files. It is made of the structs that the decoder and the
// editor's schema are made of.
type KeyDoc struct {
	// Path is the key with the keys around it: steps.retry.max_attempts.
	Path string
	// Type is the type of its value in words.
	Type     wording.Text
	Required bool
	// Doc describes its purpose.
	Doc wording.Text
	// Example is the key with a value, in YAML.
	Example string
}

// Keys describes every key of a flow file, a step's keys below steps.
func Keys() []KeyDoc { return keysOf(reflect.TypeFor[flowKeys](), "") }

func keysOf(t reflect.Type, within string) (all []KeyDoc) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		key := KeyDoc{
			Path: within + name, Type: keyType(f), Required: options != "omitempty", Doc: wording.Of(f.Tag.Get("doc")),
			Example: name + ": " + f.Tag.Get("example"),
		}
		all = append(all, key)
		if strings.HasSuffix(inner.Name(), "Keys") {
			all = append(all, keysOf(inner, key.Path+".")...)
		}
	}
	return all
}

// keyType returns the type of a key in words.
func keyType(f reflect.StructField) wording.Text {
	if enum := f.Tag.Get("enum"); enum != "" {
		values := []wording.Text{}
		for value := range strings.SplitSeq(enum, "|") {
			values = append(values, wording.Same(value))
		}
		if len(values) == 1 {
			return say("only %s", enum)
		}
		return wording.Join(values, " or ", " 或 ")
	}
	if types := f.Tag.Get("type"); types != "" {
		return wantedTypes(types)
	}
	switch f.Type {
	case reflect.TypeFor[boolKey]():
		return say("true or false")
	case reflect.TypeFor[countKey]():
		return say("a whole number from 1")
	case reflect.TypeFor[numberKey]():
		return say("a number from 1")
	case reflect.TypeFor[durationKey]():
		return say("a duration")
	case reflect.TypeFor[namesKey](), reflect.TypeFor[[]textKey]():
		return say("a list of names")
	}
	switch f.Type.Kind() {
	case reflect.Slice:
		return say("a list of maps")
	case reflect.Pointer:
		return say("a map")
	}
	return say("a text")
}

// FindKeys returns the docs of a key and of the keys below it. A key of a step may leave out steps; for an unknown
// one the error has a suggestion.
func FindKeys(path string) ([]KeyDoc, error) {
	all := Keys()
	for _, prefix := range []string{"", "steps."} {
		want := prefix + path
		found := slices.DeleteFunc(slices.Clone(all), func(k KeyDoc) bool {
			return k.Path != want && !strings.HasPrefix(k.Path, want+".")
		})
		if len(found) > 0 {
			return found, nil
		}
	}
	names := make([]string, 0, 2*len(all))
	for _, k := range all {
		names = append(names, k.Path)
		if inStep, ok := strings.CutPrefix(k.Path, "steps."); ok {
			names = append(names, inStep)
		}
	}
	if near := value.DidYouMean(path, names); near != "" {
		return nil, wording.Errorf("flows have no key %q (%s)", path, near)
	}
	return nil, wording.Errorf("flows have no key %q (`scheduler help flow` lists them)", path)
}

// Reference returns the page about flow files in a language: every key, tag, name, filter and
// test.
func Reference(language string) string {
	var b strings.Builder
	write := func(text wording.Text) { b.WriteString(text.In(language)) }
	write(say("# Keys of flow files\n\nMade by `go generate` of what the program reads; `scheduler help flow [KEY]` prints the same.\n\n## Keys\n\n| key | value | |\n|---|---|---|\n"))
	for _, k := range Keys() {
		doc := k.Doc
		if k.Required {
			doc = say("Required. %s", doc)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s<br>`%s` |\n", k.Path, k.Type.In(language), tableCell(doc.In(language)), tableCell(k.Example))
	}
	write(aboutValues())
	write(aboutTemplates())
	write(say("\n## Filters\n\n| filter | | example |\n|---|---|---|\n"))
	writeBuiltins(&b, prompt.Filters(), language)
	write(say("\n## Tests\n\n| test | | example |\n|---|---|---|\n"))
	writeBuiltins(&b, prompt.Tests(), language)
	return b.String()
}

// aboutValues is the part of the page on tags and on names in templates.
func aboutValues() wording.Text {
	names := "`" + strings.Join(reservedNames, "`, `") + "`"
	return wording.Text{
		En: `
## Values

A text under ` + "`with`, `outputs` and `memory` is a template; one that is a whole `{{ expression }}`" + ` keeps its type. Parameters that
a call takes as they are written have no templates in them.

| tag | value |
|---|---|
| ` + "`!expr \"step.text\"`" + ` | the value of an expression, wherever a value may stand |
| ` + "`!file PATH`" + ` | the content of a JSON, JSONC, YAML or text file beside the flow, as data |
| ` + "`!raw VALUE`" + ` | the value as it is written, without templates |

In VS Code, the setting of the YAML extension is
` + "`\"yaml.customTags\": [\"!expr scalar\", \"!file scalar\", \"!raw scalar\", \"!raw sequence\", \"!raw mapping\"]`" + `.

## Names in templates

The output of a finished step by its id, and ` + names + `. Inputs of
triggers know ` + "`schedule` or `webhook`" + ` alone.

| name | is | for example |
|---|---|---|
| ` + "`question` | what the user says now: the input of that name | `current_message: \"{{ question }}\"`" + ` |
| ` + "`conversation` | the messages that came before the question, a list of `{role, content}`; `[]` without any | `history: \"{{ conversation }}\"`" + ` |
| ` + "`run.user` | whose run it is: the user of a token, or of `run --user` | `memory: {user: \"{{ run.user }}\"}`" + ` |
`,
		Zh: `
## 值

` + "`with`、`outputs` 和 `memory` 下的文本是模板；整个文本为一个 `{{ 表达式 }}`" + ` 时保留其类型。调用按原样接受的参数中没有模板。

| 标签 | 值 |
|---|---|
| ` + "`!expr \"step.text\"`" + ` | 表达式的值，可用于任何值的位置 |
| ` + "`!file PATH`" + ` | 流程旁的 JSON、JSONC、YAML 或文本文件的内容，作为数据 |
| ` + "`!raw VALUE`" + ` | 按原样书写的值，不含模板 |

在 VS Code 中，YAML 扩展的设置为
` + "`\"yaml.customTags\": [\"!expr scalar\", \"!file scalar\", \"!raw scalar\", \"!raw sequence\", \"!raw mapping\"]`" + `。

## 模板中的名称

已结束的步骤的输出，以其 id 为名；以及 ` + names + `。触发器的输入只能使用 ` + "`schedule` 或 `webhook`" + `。

| 名称 | 含义 | 例如 |
|---|---|---|
| ` + "`question` | 用户现在说的话：同名的输入 | `current_message: \"{{ question }}\"`" + ` |
| ` + "`conversation` | 问题之前的消息，`{role, content}` 的列表；没有时为 `[]` | `history: \"{{ conversation }}\"`" + ` |
| ` + "`run.user` | 属于谁的运行：令牌的用户，或 `run --user` | `memory: {user: \"{{ run.user }}\"}`" + ` |
`,
	}
}

// aboutTemplates is the part of the page on the language of templates.
func aboutTemplates() wording.Text {
	return wording.Text{
		En: `
## Templates

Expressions, statements, filters and tests are those of Jinja2, with typed values and undefined names as errors. pongo2 walks the
statements, and gives the filters marked (pongo2) and the tags ` + "`comment`, `firstof`, `verbatim`, `empty` and the variable `forloop`" + `, which Jinja2 does not have.

Named deviations from Jinja2:

- ` + "`body.items` and `body['items']` are the key `items`, and undefined without it; methods are called: `body.items()`" + `.
- ` + "`tojson`" + ` escapes nothing for HTML and keeps the order of keys, as chat templates of models have it; ` + "`fromjson`" + ` reads it again.
- ` + "`include`, `import`, `extends` and `block`" + ` are refused: templates read no files. ` + "`attr` and `lipsum`" + ` are not there: templates reach no
  member by a computed name, and make nothing up.
- Unknown filters, tests and tags are errors before anything runs. An undefined value in a list that is printed is an error.
- Integers have 64 bits, and the text that ` + "`escape`" + ` makes can only be printed and joined.
- ` + "`random`" + ` chooses by the seed of the run, so that a run can be repeated.
- ` + "`{{ x | join:\", \" }}`, as pongo2 writes arguments, is the same as `{{ x | join(\", \") }}`" + `.
`,
		Zh: `
## 模板

表达式、语句、过滤器和测试与 Jinja2 相同，值带类型，未定义的名称是错误。pongo2 执行语句，并提供标有（pongo2）的过滤器，以及 Jinja2
没有的标签 ` + "`comment`、`firstof`、`verbatim`、`empty` 和变量 `forloop`" + `。

与 Jinja2 的已知差异：

- ` + "`body.items` 和 `body['items']` 是键 `items`，没有该键则未定义；方法须调用：`body.items()`" + `。
- ` + "`tojson`" + ` 不为 HTML 转义，并保持键的顺序，与模型的聊天模板一致；` + "`fromjson`" + ` 把它读回来。
- 拒绝 ` + "`include`、`import`、`extends` 和 `block`" + `：模板不读取文件。没有 ` + "`attr` 和 `lipsum`" + `：模板不能用计算出的名称取成员，也不生成虚构文本。
- 未知的过滤器、测试和标签在运行前就是错误。打印的列表中若有未定义的值，是错误。
- 整数为 64 位；` + "`escape`" + ` 得到的文本只能打印和连接。
- ` + "`random`" + ` 按运行的种子选取，因此运行可以重复。
- ` + "`{{ x | join:\", \" }}`（pongo2 的参数写法）与 `{{ x | join(\", \") }}` 相同" + `。
`,
	}
}

// writeBuiltins writes the rows of filters or tests.
func writeBuiltins(b *strings.Builder, list []prompt.Builtin, language string) {
	for _, f := range list {
		result := strings.ReplaceAll(f.Result, "\n", `\n`)
		fmt.Fprintf(b, "| `%s` | %s | `%s`<br>`%s` |\n", f, wording.Of(f.Doc).In(language), tableCell(f.Example), tableCell(result))
	}
}

// tableCell returns a text escaped for a cell of a table.
func tableCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
