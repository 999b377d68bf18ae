// Package worker is the subcommand worker as both programs have it: scheduler, which checks its
// flags and hands over, and scheduler-temporal, which does the work. For example, both have the same flags and help.
package worker

import (
	"strings"

	"github.com/spf13/cobra"
)

// Flags are the flags of the subcommand.
type Flags struct {
	On     string
	Queues []string
	Slots  int
	Setup  bool
	Check  bool
	Listen string
}

// NewCommand returns the subcommand, which calls run with its flags.
func NewCommand(run func(cmd *cobra.Command, f *Flags) error) *cobra.Command {
	f := &Flags{}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Carry out runs of other machines",
		Long: `Carry out the runs that scheduler run --on and scheduler serve --on give to a Temporal
server. Any number of workers on any number of machines share the runs; one that dies or
stops leaves its runs to the others. All of them need the same store, and what the flows
use: plugins, secrets, files below the folder of the project.

--check prints what this machine cannot carry out, and why: of the flows of the project and
of the runs that wait for a worker. What is for workers of other queues it only names.
--setup registers the search attributes by which Temporal's pages find runs. Both end then.

On Ctrl-C or SIGTERM no further step begins; those at work get a while to end (the setting
worker.drain), and other workers go on.

The work is done by a second program, scheduler-temporal, which is in the archives of a
release beside scheduler.

Exit codes: 0 done, 1 Temporal or the store cannot be reached, or --check found something
missing, 2 the settings or the usage is wrong.`,
		Example: strings.Trim(`
  temporal server start-dev &
  scheduler worker --on temporal://127.0.0.1:7233
  scheduler worker --on temporal://temporal.example:7233 --queue gpu --slots 4
  scheduler worker --on temporal://127.0.0.1:7233 --check`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.On, "on", "", "`where` runs are carried out: temporal://HOST:PORT, or local (default the setting on)")
	flags.StringArrayVar(&f.Queues, "queue", nil, "a queue's `name` to take runs from; may be given several times (default the setting worker.queues)")
	flags.IntVar(&f.Slots, "slots", 0, "how many runs of a queue to be at, at once (default the setting worker.slots)")
	flags.BoolVar(&f.Setup, "setup", false, "register the search attributes, and end")
	flags.BoolVar(&f.Check, "check", false, "print what this machine cannot carry out, and end")
	flags.StringVar(&f.Listen, "listen", "", "`host:port` of its health checks and metrics (default the setting worker.listen)")
	cmd.MarkFlagsMutuallyExclusive("setup", "check")
	return cmd
}
