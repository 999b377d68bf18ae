module github.com/callnode/scheduler/test/bench/tokens

go 1.26.0

require (
	github.com/callnode/scheduler v0.0.0-00010101000000-000000000000
	github.com/tiktoken-go/tokenizer v0.10.0
)

require github.com/dlclark/regexp2/v2 v2.5.1 // indirect

replace github.com/callnode/scheduler => ../../..
