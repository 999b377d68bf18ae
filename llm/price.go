package llm

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Currency is the unit of prices and costs: a code of ISO 4217, for example EUR. "" is
// [DefaultCurrency].
type Currency string

// DefaultCurrency is the unit of prices if the settings name none.
const DefaultCurrency Currency = "USD"

// Price is the cost of a million tokens of a model, in the [Currency] of the settings.
type Price struct {
	Model       string   `json:"model,omitempty" doc:"The model; without it, every model without a price of its own."`
	Input       float64  `json:"input" min:"0" doc:"A million tokens of the prompt."`
	Output      float64  `json:"output" min:"0" doc:"A million tokens of the answer."`
	CachedInput *float64 `json:"cached_input,omitempty" min:"0" doc:"A million tokens from the vendor's prompt cache; as input where it is not given."`
	CacheWrite  *float64 `json:"cache_write,omitempty" min:"0" doc:"A million tokens put into that cache; as input where it is not given."`
}

// Prices are the prices of a provider's models.
type Prices []Price

// Cost returns the cost of an answer of a model; ok is false if the model has no price.
func (p Prices) Cost(model string, u Usage) (cost float64, ok bool) {
	price := p.find(model)
	if price == nil {
		return 0, false
	}
	cached, written := price.Input, price.Input
	if price.CachedInput != nil {
		cached = *price.CachedInput
	}
	if price.CacheWrite != nil {
		written = *price.CacheWrite
	}
	plain := max(u.InputTokens-u.CachedTokens-u.CacheWriteTokens, 0)
	sum := float64(plain)*price.Input + float64(u.CachedTokens)*cached + float64(u.CacheWriteTokens)*written + float64(u.OutputTokens)*price.Output
	return roundCost(sum / 1_000_000), true
}

// find returns the price of a model, else the price of all others; nil if there is neither.
func (p Prices) find(model string) (price *Price) {
	for i := range p {
		if p[i].Model == model {
			return &p[i]
		}
		if p[i].Model == "" {
			price = &p[i]
		}
	}
	return price
}

// roundCost returns a cost without the noise of sums of binary fractions.
func roundCost(cost float64) float64 { return math.Round(cost*1e9) / 1e9 }

// costDecimals is how many decimals a cost has at least.
const costDecimals = 4

// Text returns a cost as people read it, for example "$0.0021" or "0.0021 EUR": with four decimals, and with more
// for a cost too small for them.
func (c Currency) Text(cost float64) string {
	if c.Code() == string(DefaultCurrency) {
		return "$" + costText(cost)
	}
	return costText(cost) + " " + string(c)
}

// Code returns the three letters of the currency.
func (c Currency) Code() string { return string(cmp.Or(c, DefaultCurrency)) }

// costText returns a cost without its unit.
func costText(cost float64) string {
	decimals := costDecimals
	if cost != 0 {
		decimals = max(decimals, costDecimals-1-int(math.Floor(math.Log10(math.Abs(cost)))))
	}
	text := strconv.FormatFloat(cost, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for len(fraction) > costDecimals && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	return whole + "." + fraction
}
