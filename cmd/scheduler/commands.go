package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// newRoot returns the tree of all commands. One that does something is in a file of its own;
// those that only hold others are here.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "scheduler",
		Short: "Run flows that build the context of a language model",
		Long: strings.TrimSpace(`
scheduler runs flows: YAML files made of calls (input, context, in-chat, chat ...)
that put a prompt together, ask a model, and can tell where every piece of the
prompt came from.`),
		Example: strings.Trim(`
  scheduler demo
  scheduler init my-app && cd my-app
  scheduler run flows/hello.yaml --question "Who are you?"
  scheduler run flows/hello.yaml --explain
  scheduler lint flows/*.yaml
  scheduler calls chat`, "\n"),
		Version:       buildVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if worksWithoutSettings(cmd) {
				return nil
			}
			return a.open()
		},
	}
	root.PersistentFlags().StringVar(&a.configPath, "config", "", "settings file (default the scheduler.yaml of the project: in the working directory or above it)")
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", "", "directory of the journal and the memory (default the setting state_dir)")
	root.SetVersionTemplate(versionLine())
	test := newTest(a)
	test.AddCommand(newTestCalibrate(a))
	root.AddCommand(
		newRun(a), newResume(a), newFork(a), newRuns(a), newJournal(a), newLint(a), test, newGraph(a), newCall(a), newCalls(a), newPlugins(a), newMemory(a), newServe(a), newWorker(a), newWorkers(a), newMCP(a), newToken(a), newImport(a), newInit(a), newDemo(a), newVersion(a))
	root.SetHelpCommand(newHelp(a))
	for _, cmd := range root.Commands() {
		completeFlags(a, cmd)
	}
	nameArguments(root)
	return root
}

// worksWithoutSettings reports whether a command reads no settings: it works even if they are broken.
func worksWithoutSettings(cmd *cobra.Command) bool {
	switch cmd.Name() {
	case "version", "help":
		return true
	case "init", "demo":
		return cmd.Parent() == cmd.Root()
	}
	return cmd.Parent() != nil && cmd.Parent().Name() == "completion"
}

func newRuns(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Look at the runs in the journal",
		Long: `Look at the runs that the journal keeps in the state directory. RUN is a run's id,
the beginning or the end of one that fits no other, or last.`,
		Example: strings.Trim(`
  scheduler runs
  scheduler runs show last --prompt answer
  scheduler runs events last | jq -c 'select(.type == "step.failed")'
  scheduler runs prune --older-than 720h --keep 100`, "\n"),
		Args: onlySubcommands,
	}
	list := newRunsList(a)
	cmd.RunE = list.RunE
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, newRunsShow(a), newRunsEvents(a), newRunsCancel(a), newRunsResume(a), newRunsPrune(a))
	return cmd
}

func newJournal(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Move the journal",
		Long: `Move the journal, which has all runs: see scheduler runs for what is in it. It is a file in
the state directory, or with the setting store a Postgres database that several machines
share.`,
		Example: "  scheduler journal copy .scheduler store",
	}
	addSubcommands(cmd, newJournalCopy(a))
	return cmd
}

func newMemory(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Add, search, move and tidy up what is remembered",
		Long: `Add, search, move and tidy up what is remembered. Memories live in the state
directory; flows that name a user and a session under memory: use the same ones.

Whose memory it is, is a wall: what reads or deletes more than one by its id names a
user with --user, or says --all-users. --user "" is the user without a name.`,
		Example: strings.Trim(`
  scheduler memory add --user lin "I like jasmine tea best."
  scheduler memory search --user lin "which tea?"
  scheduler memory list --user lin --limit 20
  scheduler memory import --jsonl talks.jsonl
  scheduler memory export backup/
  scheduler memory cleanup --user lin --days 365 --dry-run
  scheduler memory snapshot list --user lin`, "\n"),
	}
	addSubcommands(cmd, newMemoryAdd(a), newMemorySearch(a), newMemoryList(a), newMemoryGet(a), newMemoryDelete(a), newMemoryImport(a), newMemoryExport(a),
		newMemoryCleanup(a), newMemorySnapshot(a), newMemoryStats(a), newMemoryFacts(a), newMemoryWhy(a), newMemoryHistory(a), newMemoryConflicts(a))
	return cmd
}

func newPlugins(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List, write, check and trust plugins",
		Long: `Plugins are programs of their own, in any language, that offer importance functions,
variables and calls. A folder with a plugin.yaml is one. They are looked for in
./plugins.d, in plugins below the state directory, and where the settings say; only
those that you trust are started, when a flow uses them.`,
		Example: strings.Trim(`
  scheduler plugins init --lang go my-first    # writes plugins.d/my-first
  scheduler plugins verify my-first
  scheduler plugins trust my-first
  scheduler plugins list`, "\n"),
		Args: onlySubcommands,
	}
	list := newPluginsList(a)
	cmd.RunE = list.RunE
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, newPluginsInit(a), newPluginsVerify(a), newPluginsTrust(a), newPluginsUntrust(a))
	return cmd
}

func newToken(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens of the server",
		Long: `Tokens let programs use scheduler serve. A token with a user is bound to that user: it
reaches only the runs and memories of the user, and other runs do not exist for it.`,
		Example: strings.Trim(`
  scheduler token create shop --user lin --scopes runs:read,runs:write --expires 90d
  scheduler token list
  scheduler token revoke 3f7k2m9x1q`, "\n"),
		Args: onlySubcommands,
	}
	list := newTokenList(a)
	cmd.RunE = list.RunE
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(newTokenCreate(a), list, newTokenRevoke(a))
	return cmd
}

// addSubcommands adds subcommands to a command; without one it shows its help.
func addSubcommands(cmd *cobra.Command, subcommands ...*cobra.Command) {
	cmd.AddCommand(subcommands...)
	cmd.Args = onlySubcommands
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// onlySubcommands refuses a word that is not a subcommand.
func onlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return usageError(wording.Errorf("%s has no %q%s: want one of %s", cmd.CommandPath(), args[0], value.DidYouMeanSuffix(args[0], names), strings.Join(names, ", ")))
}

// nameArguments lets errors about the number of arguments show the command's usage; the library only gives the count.
func nameArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		nameArguments(c)
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				err := check(c, args)
				if own := (exitError{}); err == nil || errors.As(err, &own) {
					return err
				}
				return wording.Errorf("wrong number of arguments: want %s", c.UseLine())
			}
		}
	}
}

func newMemorySnapshot(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "List snapshots, add one, or make those that are due",
		Long: `List snapshots, add one by hand, or make those that are due. A snapshot sums several memories of a
session up; a meta snapshot describes the snapshots of a category. Both are made at
the end of runs and by snapshot run, by the model of the setting memory.snapshot.llm
or, without one, of the sentences of the memories.`,
		Example: strings.Trim(`
  scheduler memory snapshot list --user lin --category food
  scheduler memory snapshot run --all`, "\n"),
	}
	addSubcommands(cmd, newSnapshotList(a), newSnapshotAdd(a), newSnapshotRun(a))
	return cmd
}

func newImport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Turn files of other programs into flows and tests",
		Long: `Turn files of other programs into flows and tests. Every leaf of a source is accounted
for: kept, changed, or not kept, with its line and what to do. No code and no template of
a source runs.`,
		Example: "  scheduler import promptfoo promptfooconfig.yaml -o evals/",
	}
	addSubcommands(cmd, newImportPromptfoo(a))
	return cmd
}
