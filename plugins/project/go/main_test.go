package main

import (
	"testing"

	"github.com/callnode/scheduler/plugins/pluginstest"
)

func TestInProcess(t *testing.T) {
	server, err := plugin().Server()
	if err != nil {
		t.Fatal(err)
	}
	pluginstest.RunInProcess(t, server)
}

func TestProgram(t *testing.T) { pluginstest.Run(t, pluginstest.Build(t, ".")) }
