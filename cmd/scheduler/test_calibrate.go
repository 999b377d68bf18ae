package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/calibrate"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
)

// calibrateFlags are the flags of a calibration.
type calibrateFlags struct {
	llm          string
	criteria     []string
	preset       string
	rubric       string
	min          float64
	record, live bool
	asJSON       bool
	// minAgreement and maxFalsePass are shares that the judge must keep to; below 0 without their flags.
	minAgreement, maxFalsePass float64
}

func newTestCalibrate(a *app) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate LABELS.jsonl",
		Short: "Find out how far a judge agrees with people",
		Long: `Have a judge judge answers that people have passed or failed, and print how far both
agree: the share of equal verdicts, Cohen's kappa, which leaves out agreement by chance,
and how many bad answers the judge lets pass. It is kept in ` + calibrate.File + `, and
reports show it beside what the judge finds.

Each line has {"text": "the answer", "pass": true}, and if you like question, id, and
judge: {criteria: [...]} as in a test file; lines without a judge go by the flags. Verdicts of
the judge are played from LABELS.PROVIDER.cassette.yaml, as in tests.`,
		Example: strings.Trim(`
  scheduler test calibrate labels.jsonl --llm judge --criterion "Names the opening days"
  scheduler test calibrate labels.jsonl --record`, "\n"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.calibrate(cmd.Context(), args[0], &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.llm, "llm", "", "the `provider` that judges (default the setting llm.default)")
	flags.StringArrayVar(&f.criteria, "criterion", nil, "what an answer must do, a `sentence`; can be repeated")
	flags.StringVar(&f.preset, "preset", "", "criteria that are built in: relevancy, correctness, refusal, harmless, coherence or concise")
	flags.StringVar(&f.rubric, "rubric", "", "how to grade an answer from 0 to 10")
	flags.Float64Var(&f.min, "min", 0, "the share of criteria, or of the grade, that is enough")
	flags.BoolVar(&f.record, "record", false, "ask the judge for verdicts that are not recorded, and record them")
	flags.BoolVar(&f.live, "live", false, "ask the judge for all verdicts, and record none")
	flags.BoolVar(&f.asJSON, "json", false, "print the calibration as one JSON document")
	flags.Float64Var(&f.minAgreement, "min-agreement", -1, "fail (exit code 1) if a smaller `share` of the verdicts is equal")
	flags.Float64Var(&f.maxFalsePass, "max-false-pass", -1, "fail (exit code 1) if the judge passes a larger `share` of what people fail")
	cmd.MarkFlagsMutuallyExclusive("record", "live")
	completeFlags(a, cmd)
	return cmd
}

// judging returns the judge's criteria; nil if no flag gives them.
func (f *calibrateFlags) judging(isMinSet bool) *check.Judging {
	if len(f.criteria) == 0 && f.preset == "" && f.rubric == "" {
		return nil
	}
	j := &check.Judging{Criteria: f.criteria, Preset: f.preset, Rubric: f.rubric}
	if isMinSet {
		j.Min = &f.min
	}
	return j
}

// calibrate has the answers of a file judged, and prints and keeps the agreement of the judge.
func (a *app) calibrate(ctx context.Context, path string, f *calibrateFlags) error {
	file, err := calls.OpenFile(path)
	if err != nil {
		return usageError(err)
	}
	labels, err := calibrate.ReadLabels(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return usageError(wording.Errorf("%s: %w", path, err))
	}
	for _, share := range []float64{f.minAgreement, f.maxFalsePass} {
		if share > 1 {
			return usageError(wording.Errorf("--min-agreement and --max-false-pass are shares from 0 to 1"))
		}
	}
	standard := f.judging(f.min > 0)
	if standard != nil {
		if err := calibrate.Validate(standard); err != nil {
			return usageError(err)
		}
	}
	name := f.llm
	if name == "" && len(a.settings.LLM.Default) > 0 {
		name = a.settings.LLM.Default[0]
	}
	if name == "" {
		return usageError(calls.Errorf(calls.Invalid, "no provider judges").WithHint("name one with --llm, or set llm.default in the settings"))
	}
	services, closeJudge, err := a.runtime.JudgeServices(&wire.Judge{Labels: path, Provider: name, Live: f.live, Record: f.record})
	if err != nil {
		return usageError(err)
	}
	found, err := calibrate.Run(ctx, labels, standard, name, string(a.Language), services)
	if err := errors.Join(err, closeJudge()); err != nil {
		return exitFor(ctx, err, false)
	}
	if err := a.tellCalibration(found, path, f.asJSON); err != nil {
		return err
	}
	return a.holdCalibration(found, f)
}

// holdCalibration returns an error if a judge misses the thresholds of the flags.
func (a *app) holdCalibration(c *calibrate.Calibration, f *calibrateFlags) error {
	isBad := false
	if f.minAgreement >= 0 && c.Share < f.minAgreement {
		isBad = true
		a.Tellf("the agreement is %.2f, less than --min-agreement %.2f", c.Share, f.minAgreement)
	}
	if f.maxFalsePass >= 0 && c.FalsePass > f.maxFalsePass {
		isBad = true
		a.Tellf("the judge passed %.2f of what people failed, more than --max-false-pass %.2f", c.FalsePass, f.maxFalsePass)
	}
	if f.maxFalsePass >= 0 && c.Failed == 0 {
		a.Tellf("people failed no answer: how many bad ones the judge passes is not known")
		return exitError{code: exitUndecided}
	}
	if isBad {
		return exitError{code: exitFailed}
	}
	return nil
}

// tellCalibration prints and keeps a calibration. Verdicts that are missing make it undecided, and it is not kept.
func (a *app) tellCalibration(c *calibrate.Calibration, path string, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(a.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(c); err != nil {
			return err
		}
	} else {
		a.printCalibration(c, path)
	}
	if len(c.Undecided) > 0 {
		return exitError{code: exitUndecided}
	}
	return calibrate.Save(filepath.Join(a.settings.Root, calibrate.File), c)
}

func (a *app) printCalibration(c *calibrate.Calibration, path string) {
	o := a.reportOptions()
	say := func(format string, args ...any) { fmt.Fprintln(a.Stdout, a.Language.Say(format, args...)) }
	for _, d := range c.Disagreements {
		verdict := a.Language.Say("the judge passes what people fail")
		if !d.Judge {
			verdict = a.Language.Say("the judge fails what people pass")
		}
		say("%s:%d: %s: %s", path, d.Line, verdict, o.ForeignText(d.Reason))
	}
	var hints []string
	for _, u := range c.Undecided {
		say("%s:%d: no verdict: %s", path, u.Line, o.ForeignText(u.Problem))
		if u.Hint != "" && !slices.Contains(hints, u.Hint) {
			hints = append(hints, u.Hint)
		}
	}
	for _, hint := range hints {
		fmt.Fprintln(a.Stdout, o.ForeignText(hint))
	}
	if c.Items == 0 {
		say("%s gave no verdict: nothing is known of it, and nothing is kept", c.Provider)
		return
	}
	say("%s: %d answers, agreement %.2f, kappa %.2f", c.Provider, c.Items, c.Share, c.Kappa)
	say("of %d that people failed, the judge passed %d (%.0f %%, 95 %%: %.0f to %.0f %%); of those that people passed, it failed %d",
		c.Failed, c.FalsePasses, 100*c.FalsePass, 100*c.FalsePassInterval.Low, 100*c.FalsePassInterval.High, c.FalseFails)
	if len(c.Undecided) > 0 {
		say("nothing is kept: no verdict of %s", wording.Count(len(c.Undecided), "answer"))
	}
}
