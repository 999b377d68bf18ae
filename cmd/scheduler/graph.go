package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow/graph"
)

func newGraph(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "graph FLOW",
		Short:   "Draw a flow as a picture",
		Long:    "Print the steps of a flow and what they need as a Mermaid or Graphviz picture.",
		Example: "  scheduler graph flow.yaml\n  scheduler graph flow.yaml --format dot | dot -Tsvg > flow.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			draw := map[string]func(*graph.Graph) string{
				"mermaid": (*graph.Graph).Mermaid,
				"dot":     (*graph.Graph).Dot,
			}[format]
			if draw == nil {
				return usageError(wording.Errorf("the format %q is not known: want mermaid or dot", format))
			}
			flow, err := a.loadFlow(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Stdout, draw(graph.Of(flow)))
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "mermaid", "mermaid or dot")
	return cmd
}
