package llm_test

import (
	"testing"

	"github.com/callnode/scheduler/llm"
)

func TestCost(t *testing.T) {
	cheap, dear := 0.3, 3.75
	prices := llm.Prices{
		{Input: 1, Output: 2},
		{Model: "cached", Input: 3, Output: 15, CachedInput: &cheap, CacheWrite: &dear},
	}
	u := llm.Usage{InputTokens: 1000, OutputTokens: 100, CachedTokens: 600, CacheWriteTokens: 200}
	for _, tt := range []struct {
		prices llm.Prices
		model  string
		want   float64
		known  bool
	}{
		{prices, "other", 0.0012, true},
		{prices, "cached", 0.00303, true},
		{prices[1:], "other", 0, false},
		{nil, "", 0, false},
	} {
		if got, known := tt.prices.Cost(tt.model, u); got != tt.want || known != tt.known {
			t.Errorf("%s: got %v, %v, want %v", tt.model, got, known, tt.want)
		}
	}
	sum := llm.Usage{Cost: 0.1}
	sum.Add(llm.Usage{Cost: 0.2})
	if sum.Cost != 0.3 {
		t.Errorf("the sum is %v", sum.Cost)
	}
	if got := sum.Minus(llm.Usage{Cost: 0.1, InputTokens: 5}); got != (llm.Usage{Cost: 0.2}) {
		t.Errorf("the rest is %+v", got)
	}
}

// A cost that is not 0 is not shown as 0.
func TestCostText(t *testing.T) {
	for cost, want := range map[float64]string{
		0: "0.0000", 0.00001: "0.00001", 0.0000123456: "0.00001235", 0.5: "0.5000", 0.1 + 0.2: "0.3000", 12.34567: "12.3457", 0.00099999: "0.0010", -0.00002: "-0.00002",
	} {
		for currency, text := range map[llm.Currency]string{"": "$" + want, "USD": "$" + want, "EUR": want + " EUR"} {
			if got := currency.Text(cost); got != text {
				t.Errorf("%v in %q: %s, not %s", cost, currency, got, text)
			}
		}
	}
}
