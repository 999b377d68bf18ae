package prompt_test

import (
	"context"
	"fmt"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

func ExampleParse() {
	tmpl, err := prompt.Parse(prompt.Source{Text: `{% for m in memories %}{{ loop.index }}. {{ m.text | trim }}
{% endfor %}Question: {{ question }}`})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := tmpl.Render(context.Background(), prompt.Values{Map: value.Pairs(
		"memories", []*value.Map{value.Pairs("text", "likes tea "), value.Pairs("text", "has a cat")},
		"question", "What should I bring?")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(text)
	// Output:
	// 1. likes tea
	// 2. has a cat
	// Question: What should I bring?
}

func ExampleTemplate_Refs() {
	tmpl, err := prompt.Parse(prompt.Source{Text: "{% if recall is defined %}{{ recall.memories[0].text }}{% endif %} {{ inputs.city | default('Oslo') }}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, ref := range tmpl.Refs() {
		fmt.Println(ref.Path, ref.Guarded)
	}
	// Output:
	// [recall] true
	// [recall memories 0 text] true
	// [inputs city] true
}

func ExampleCheck() {
	_, errs := prompt.Check(prompt.Source{File: "greeting.txt", Text: "{{ name | uper }}\n{{ age is evn }}"})
	for _, err := range errs {
		fmt.Println(err)
	}
	// Output:
	// greeting.txt:1:11: unknown filter 'uper' (did you mean "upper"?)
	// greeting.txt:2:11: unknown test 'evn' (did you mean "even"?)
}

func ExampleTemplate_Trace() {
	tmpl, err := prompt.Parse(prompt.Source{Text: "Hello {{ user.name }}!{% if tags %} You like {{ tags | join(' and ') }}.{% endif %}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := prompt.Values{Map: value.Pairs("user", value.Pairs("name", "Bo"), "tags", []string{"tea", "chess"})}
	text, pieces, err := tmpl.Trace(context.Background(), scope)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pieces {
		fmt.Printf("%-14q from %q %v\n", text[p.Start:p.End], p.Expr, p.Path)
	}
	// Output:
	// "Hello "       from "" []
	// "Bo"           from "user.name" [user name]
	// "!"            from "" []
	// " You like "   from "" []
	// "tea and chess" from "tags | join(' and ')" []
	// "."            from "" []
}

func ExampleExpr_Eval() {
	e, err := prompt.ParseExpr(prompt.Source{File: "flow.yaml", Text: "recall.memmories[:2]"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = e.Eval(context.Background(), prompt.Values{Map: value.Pairs("recall", value.Pairs("memories", []int{1, 2, 3}))})
	fmt.Println(err)
	// Output:
	// flow.yaml:1:1: recall.memmories is undefined: the object has no key 'memmories' (did you mean "memories"?)
}
