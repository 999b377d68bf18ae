package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// The choices of --rerun.
const (
	rerunFailed = "failed"
	rerunErrors = "errors"
)

// testSelection is which cases are to run.
type testSelection struct {
	filter string
	tags   []string
	rerun  string
	matrix []string
}

func (s *testSelection) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.filter, "filter", "", "run cases whose name, row or variant matches a regular `expression`")
	flags.StringArrayVar(&s.tags, "tag", nil, "run cases with the `tag`; several are alternatives")
	flags.StringVar(&s.rerun, "rerun", "", "run cases that failed, or had errors, in the last run, and those that it did not come to: failed or errors")
	flags.StringArrayVar(&s.matrix, "matrix", nil, "run the variants with a setting of the matrix: `key=value`")
}

// prepare checks the selection against the cases there are. It returns what selects them, and how many there are.
func (s *testSelection) prepare(suites []*suite.Suite, last *result.Run) (selects func(*suite.Suite, *suite.Case) bool, count int, err error) {
	filter, err := regexp.Compile(s.filter)
	if err != nil {
		return nil, 0, wording.Errorf("--filter: %w", err)
	}
	settings, err := s.settings(suites)
	if err != nil {
		return nil, 0, err
	}
	isDue, err := s.due(last)
	if err != nil {
		return nil, 0, err
	}
	fits := func(c *suite.Case) bool {
		hasTag := len(s.tags) == 0 || slices.ContainsFunc(c.Tags, func(tag string) bool { return slices.Contains(s.tags, tag) })
		return hasTag && filter.MatchString(c.ID()) && fitsSettings(c, settings)
	}
	selects = func(file *suite.Suite, c *suite.Case) bool { return fits(c) && isDue(file.File, c.ID()) }
	isAnyFit := false // of which none may be due, with --rerun
	for _, file := range suites {
		for _, c := range file.Cases {
			isAnyFit = isAnyFit || fits(c)
			if selects(file, c) {
				count++
			}
		}
	}
	if isAnyFit {
		return selects, count, nil
	}
	return nil, 0, calls.Errorf(calls.NotFound, "no case fits the flags").WithHint("%s", wording.Of(value.DidYouMeanOrList(strings.Join(s.tags, " "), tagsOf(suites))))
}

// tagsOf lists the tags of all cases.
func tagsOf(suites []*suite.Suite) (tags []string) {
	for _, file := range suites {
		for _, c := range file.Cases {
			tags = append(tags, c.Tags...)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// settings reads --matrix. A key that no matrix has is an error.
func (s *testSelection) settings(suites []*suite.Suite) (all []result.Setting, err error) {
	known := map[string][]string{}
	var keys []string
	for _, file := range suites {
		for _, c := range file.Cases {
			for _, setting := range c.Variant {
				if !slices.Contains(keys, setting.Key) {
					keys = append(keys, setting.Key)
				}
				known[setting.Key] = append(known[setting.Key], setting.Value)
			}
		}
	}
	for _, text := range s.matrix {
		key, v, ok := strings.Cut(text, "=")
		if !ok {
			return nil, wording.Errorf("--matrix %s: write key=value", text)
		}
		if !slices.Contains(keys, key) {
			return nil, wording.Errorf("--matrix: no test file has %q%s", key, value.DidYouMeanOrListSuffix(key, keys))
		}
		if !slices.Contains(known[key], v) {
			slices.Sort(known[key])
			return nil, wording.Errorf("--matrix: no test file has %s=%s%s", key, v, value.DidYouMeanOrListSuffix(v, slices.Compact(known[key])))
		}
		all = append(all, result.Setting{Key: key, Value: v})
	}
	return all, nil
}

// fitsSettings reports whether the variant of a case has the settings. A case without an axis fits: it is the same with
// all its values.
func fitsSettings(c *suite.Case, settings []result.Setting) bool {
	for _, have := range c.Variant {
		isAsked, fits := false, false
		for _, want := range settings {
			isAsked = isAsked || want.Key == have.Key
			fits = fits || want == have
		}
		if isAsked && !fits {
			return false
		}
	}
	return true
}

// due returns which cases --rerun runs: all without it.
func (s *testSelection) due(last *result.Run) (func(file, id string) bool, error) {
	switch s.rerun {
	case "":
		return func(string, string) bool { return true }, nil
	case rerunFailed, rerunErrors:
	default:
		return nil, wording.Errorf("--rerun is failed or errors, not %q", s.rerun)
	}
	if last == nil {
		return nil, calls.Errorf(calls.NotFound, "there is no last run").WithHint("run scheduler test without --rerun")
	}
	outcomes := map[[2]string]result.Outcome{}
	for _, file := range last.Suites {
		for _, c := range file.Cases {
			outcomes[[2]string{file.File, c.ID()}] = c.Outcome
		}
	}
	return func(file, id string) bool {
		outcome, ran := outcomes[[2]string{file, id}]
		if !ran {
			return last.Interrupted
		}
		return outcome == result.Error || outcome == result.Fail && s.rerun == rerunFailed
	}, nil
}
