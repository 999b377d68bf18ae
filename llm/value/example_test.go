package value_test

import (
	"fmt"

	"github.com/callnode/scheduler/llm/value"
)

func ExampleParseJSON() {
	v, err := value.ParseJSON([]byte(`{"price": 1.50, "name": "tea", "sizes": [250, 500]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	second, _ := v.At("/sizes/1")
	fmt.Println(v, second)
	_, err = value.ParseJSON([]byte("{\n  \"name\": tea}"))
	fmt.Println(err)
	// Output:
	// {"price":1.50,"name":"tea","sizes":[250,500]} 500
	// 2:11: want a JSON value, found 't'
}

func ExampleDecode() {
	var order struct {
		Name  string `json:"name"`
		Sizes []int  `json:"sizes"`
	}
	v := value.OfMap(value.Pairs("name", "tea", "sizes", []any{250, "large"}))
	fmt.Println(value.Decode(v, &order))
	// Output: /sizes/1: want integer, got string
}

func ExampleDidYouMean() {
	fmt.Println(value.DidYouMean("colour", []string{"color", "size"}))
	// Output: did you mean "color"?
}

func ExampleTruncate() {
	fmt.Println(value.Truncate("the quick brown fox", 12))
	// Output: the quick...
}
