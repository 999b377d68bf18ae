package prompt_test

import (
	"context"
	"fmt"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

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
