package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// annotationLimit is how many annotations of one level GitHub shows for a step.
const annotationLimit = 10

// Annotate writes the failures as workflow commands of GitHub Actions, which shows them at their lines. Path of
// the options must give paths in the repository.
func Annotate(w io.Writer, run *result.Run, o Options) {
	run = masked(run, o.visible)
	left := 0
	shown := map[string]int{}
	for _, s := range run.Suites {
		for _, c := range s.Cases {
			if c.Outcome != result.Fail && c.Outcome != result.Error {
				continue
			}
			level := "error"
			if c.Outcome == result.Error {
				level = "warning"
			}
			for _, f := range findings(c) {
				shown[level]++
				if shown[level] > annotationLimit {
					left++
					continue
				}
				text := strings.Join(append([]string{f.title()}, o.details(c, f)...), "\n")
				fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n",
					level, commandProperty(o.path(f.at.File)), max(f.at.Line, 1), max(f.at.Col, 1), commandProperty(c.ID()), commandText(text))
			}
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "::notice::%s\n", commandText(o.say("%d more are in the log", left)))
	}
}

// commandText escapes the text of a workflow command.
func commandText(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// commandProperty escapes a property of a workflow command.
func commandProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandText(text))
}
