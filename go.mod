module github.com/callnode/scheduler

go 1.26.0

require (
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1
	go.yaml.in/yaml/v3 v3.0.6
)
