package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/docs"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
)

// newHelp is the library's help, help flow [KEY], and the guides: help docs [TOPIC].
func newHelp(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Explain a command, a topic, or with help flow [KEY] the keys of flow files",
		Long: `Explain a command, or print a guide: help docs lists the guides, and help TOPIC prints one.
A topic that is a command as well, such as memory, is printed by help docs TOPIC.

help flow prints every key of flow files, and the filters and tests of templates; help
flow KEY explains one key and those below it, such as steps.retry.`,
		Example: "  scheduler help run\n  scheduler help tutorial\n  scheduler help docs memory\n  scheduler help flow steps.retry",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && args[0] == "flow":
				return a.explainFlow(args[1:])
			case len(args) > 0 && args[0] == "docs":
				return a.printGuide(args[1:])
			}
			target, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return a.explainCommand(target, args)
			}
			return a.printGuide(args)
		},
	}
}

// explainCommand prints the help of a command, and names the guide of the same name, for example that to memory.
func (a *app) explainCommand(target *cobra.Command, args []string) error {
	if err := target.Help(); err != nil {
		return err
	}
	topic := strings.Join(args, " ")
	if _, ok := docs.Read(topic, ""); !ok {
		return nil
	}
	_, err := fmt.Fprintln(a.Stdout, "\n"+a.Language.Say("There is a guide too: scheduler help docs %s", topic))
	return err
}

// printGuide prints the guide of a topic, or without one the list of guides.
func (a *app) printGuide(topics []string) error {
	language := string(a.Language)
	if len(topics) == 0 {
		for _, guide := range docs.List(language) {
			if _, err := fmt.Fprintf(a.Stdout, "%-16s %s\n", guide.Topic, guide.Summary); err != nil {
				return err
			}
		}
		return nil
	}
	text, ok := docs.Read(strings.Join(topics, " "), language)
	if !ok {
		return usageError(wording.Errorf("unknown help topic %q: want a command, flow, or a topic of scheduler help docs", strings.Join(topics, " ")))
	}
	_, err := fmt.Fprint(a.Stdout, text)
	return err
}

// explainFlow prints the reference of flow files, or of one key.
func (a *app) explainFlow(keys []string) error {
	if len(keys) == 0 {
		_, err := fmt.Fprint(a.Stdout, flow.Reference(string(a.Language)))
		return err
	}
	found, err := flow.FindKeys(strings.Join(keys, "."))
	if err != nil {
		return usageError(err)
	}
	for i, k := range found {
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
