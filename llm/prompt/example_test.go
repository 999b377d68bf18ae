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
	tmpl, err := prompt.Parse(prompt.Source{Text: "Hello {{ user.name | trim }}!{% for t in tags %} You like {{ t ~ '.' }}{% endfor %}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := prompt.Values{Map: value.Pairs("user", value.Pairs("name", " Bo "), "tags", []string{"tea"})}
	text, spans, err := tmpl.Trace(context.Background(), scope)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range spans {
		fmt.Printf("%-12q %s", text[s.Start:s.End], s.Kind)
		for _, source := range s.Sources {
			fmt.Printf(" of %s%s[%d:%d]", source.Name, source.Pointer, source.Start, source.End)
		}
		fmt.Println()
	}
	// Output:
	// "Hello "     literal
	// "Bo"         reference of user/name[1:3]
	// "!"          literal
	// " You like " literal
	// "tea"        reference of tags/0[0:3]
	// "."          literal
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
