package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// withStore opens the store of the server for a use.
func (a *app) withStore(ctx context.Context, use func(*store.Store) error) error {
	s, err := a.runtime.OpenServerStore(ctx)
	if err != nil {
		return exitError{exitFailed, err}
	}
	defer func() { _ = s.Close() }() // all writes are committed
	return use(s)
}

func newTokenCreate(a *app) *cobra.Command {
	var user, expires string
	var scopes []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token and print it: it is not shown again",
		Long: `Create a token and print it on stdout; it is not shown again. Scopes are runs:read,
runs:write, runs:as, flows:read, flows:write, memory:read, memory:write, calls:run,
metrics and admin, which allows everything. With runs:as beside runs:write, a token
without a user begins runs for the user that a request names: run.user in the flow,
and bound to that user as a token of theirs would be.`,
		Example: "  scheduler token create shop --user lin --scopes runs:read,runs:write\n  TOKEN=$(scheduler token create ci --scopes admin --expires 1h)",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			parsed, err := store.ParseScopes(scopes)
			if err != nil {
				return usageError(err)
			}
			life, err := store.ParseLife(expires)
			if err != nil {
				return usageError(wording.Errorf("--expires: %w", err))
			}
			return a.withStore(cmd.Context(), func(s *store.Store) error {
				t, text, err := s.CreateToken(cmd.Context(), args[0], user, parsed, life)
				if err != nil {
					return usageError(err)
				}
				if asJSON {
					doc := value.Must(t).Map().Clone()
					doc.Set("text", value.OfString(text))
					return a.PrintJSON(value.OfMap(doc))
				}
				a.Tellf("created the token %s; send it as Authorization: Bearer ...", t.ID)
				_, err = fmt.Fprintln(a.Stdout, text)
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&user, "user", "", "bind the token to a `user`; without one it reaches what belongs to all")
	flags.StringSliceVar(&scopes, "scopes", nil, "what it allows, a `list` with commas")
	flags.StringVar(&expires, "expires", "", "how `long` it lasts, 90d or 12h (default: for good)")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newTokenList(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens",
		Example: "  scheduler token list --json | jq -r '.[].id'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(s *store.Store) error {
				all, err := s.Tokens(cmd.Context())
				if err != nil {
					return exitError{exitFailed, err}
				}
				if asJSON {
					return a.PrintJSON(value.Must(all))
				}
				return a.printTokens(all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printTokens prints a table of tokens.
func (a *app) printTokens(all []*store.Token) error {
	if len(all) == 0 {
		a.Tellf("no tokens (scheduler token create NAME --scopes ... makes one)")
		return nil
	}
	w := terminal.NewTable(a.Stdout)
	fmt.Fprintln(w, a.Language.Say("ID\tNAME\tUSER\tSCOPES\tEXPIRES"))
	for _, t := range all {
		user, expires := t.User, a.Language.Say("never")
		if user == "" {
			user = "-"
		}
		if !t.Expires.IsZero() {
			expires = t.Expires.Local().Format(time.DateTime)
			if !t.Expires.After(time.Now()) {
				expires = a.Language.Say("%s (expired)", expires)
			}
		}
		names := make([]string, len(t.Scopes))
		for i, scope := range t.Scopes {
			names[i] = string(scope)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, terminal.Visible(t.Name), terminal.Visible(user), strings.Join(names, ","), expires)
	}
	return w.Flush()
}

func newTokenRevoke(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke a token: servers refuse it within seconds",
		Example: "  scheduler token revoke 3f7k2m9x1q",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(s *store.Store) error {
				if err := s.RevokeToken(cmd.Context(), args[0]); err != nil {
					return usageError(err)
				}
				_, err := fmt.Fprintln(a.Stdout, a.Language.Say("revoked %s", args[0]))
				return err
			})
		},
	}
}
