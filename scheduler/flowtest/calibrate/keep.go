package calibrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// File is the name of the file with the calibrations of a project, in its folder. It is meant to be committed.
const File = "judges.calibration.json"

// Kept holds the kept calibrations, by the name of the judge's provider.
type Kept map[string]KeptJudge

// KeptJudge is how far a judge agreed with people.
type KeptJudge struct {
	Labels    int     `json:"labels"`
	Agreement float64 `json:"agreement"`
	Kappa     float64 `json:"kappa"`
	FalsePass float64 `json:"false_pass"`
}

// Load reads the calibrations of a project; none if there is no file.
func Load(file string) (Kept, error) {
	data, err := calls.ReadFile(file, calls.AnyLength)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept Kept
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, wording.Errorf("%s is not a file of calibrations: %w", file, err)
	}
	return kept, nil
}

// Save keeps a calibration beside the calibrations of other judges.
func Save(file string, c *Calibration) error {
	kept, err := Load(file)
	if err != nil {
		return err
	}
	if kept == nil {
		kept = Kept{}
	}
	kept[c.Provider] = KeptJudge{c.Items, c.Share, c.Kappa, c.FalsePass}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(kept); err != nil {
		return err
	}
	return calls.WriteFile(file, out.Bytes(), 0o644)
}

// Annotate puts the calibrations of the judges beside their verdicts in a run. standard is the default provider,
// which judges if a check names none.
func (k Kept) Annotate(run *result.Run, standard string) {
	for _, s := range run.Suites {
		for _, c := range s.Cases {
			for i := range c.Repeats {
				k.annotateChecks(c.Repeats[i].Checks, standard)
			}
		}
	}
}

func (k Kept) annotateChecks(checks []result.Check, standard string) {
	for i := range checks {
		judge := checks[i].Judge
		if judge == nil {
			continue
		}
		if judge.Provider == "" {
			judge.Provider = standard
		}
		if known, ok := k[judge.Provider]; ok {
			judge.Labels, judge.Agreement, judge.Kappa, judge.FalsePass = known.Labels, known.Agreement, known.Kappa, known.FalsePass
		}
	}
}
