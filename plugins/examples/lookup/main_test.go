package main

import (
	"testing"

	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/test/slow"
)

func TestInProcess(t *testing.T) {
	server, err := plugin("data").Server()
	if err != nil {
		t.Fatal(err)
	}
	pluginstest.RunInProcess(t, server)
}

func TestProgram(t *testing.T) {
	slow.Test(t)
	pluginstest.Run(t, pluginstest.Build(t, "."))
}
