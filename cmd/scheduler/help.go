package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
)

// newHelp is the library's help, and help flow [KEY].
func newHelp(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command, or with help flow [KEY] the keys of flow files",
		Long: `Explain a command. help flow prints every key of flow files, and the filters and tests
of templates; help flow KEY explains one key and those below it, such as steps.retry.`,
		Example: "  scheduler help run\n  scheduler help flow\n  scheduler help flow steps.retry",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "flow" {
				return a.explainFlow(args[1:])
			}
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError(wording.Errorf("unknown help topic %q: want a command, or flow", strings.Join(args, " ")))
			}
			return target.Help()
		},
	}
}

// explainFlow prints the reference of flow files, or of one key.
func (a *app) explainFlow(keys []string) error {
	if len(keys) == 0 {
		_, err := fmt.Fprint(a.Stdout, flow.Reference(string(a.Language)))
		return err
	}
	docs, err := flow.FindKeys(strings.Join(keys, "."))
	if err != nil {
		return usageError(err)
	}
	for i, k := range docs {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		required := ""
		if k.Required {
			required = a.Language.Say(", required")
		}
		language := string(a.Language)
		if _, err := fmt.Fprintf(a.Stdout, "%s: %s%s\n  %s\n  %s\n", k.Path, k.Type.In(language), required, k.Doc.In(language), a.Language.Say("Example: %s", k.Example)); err != nil {
			return err
		}
	}
	return nil
}
