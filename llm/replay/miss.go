package replay

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/linediff"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// describeMiss returns the error with a message that a request is not recorded: the recorded request that is nearest to it, and
// what differs. path is that of the cassette, shown what messages call it.
func describeMiss(err *llm.Error, c *cassette, path, shown string, r recording) *llm.Error {
	asked := requestLines(r.request)
	i := c.nearestRecording(asked)
	if i < 0 {
		if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
			return err.WithMessage("no recording of this request in %s, and there is no such file; the request was:\n%s", shown, showLines(nil, asked))
		}
		return err.WithMessage("no recording of this request in %s, which is empty; the request was:\n%s", shown, showLines(nil, asked))
	}
	near := requestLines(c.recordings[i].request)
	return err.WithMessage("no recording of this request in %s; the nearest is recording %d (- recorded, + asked):\n%s", shown, i+1, showLines(near, asked))
}

// showLines returns what differs between recorded lines and those asked.
func showLines(recorded, asked []string) string {
	return strings.TrimRight(linediff.Show(recorded, asked), "\n")
}

// requestLines returns a request as the cassette shows it, cut into lines.
func requestLines(request value.Value) []string {
	return strings.Split(strings.TrimSuffix(string(yaml.Append(nil, request)), "\n"), "\n")
}

// nearestRecording returns the index of the recording whose request has the most lines in common
// with those asked, counted against all lines; -1 for an empty cassette.
func (c *cassette) nearestRecording(asked []string) int {
	best, bestScore := -1, -1.0
	for i, r := range c.recordings {
		recorded := requestLines(r.request)
		count := make(map[string]int, len(recorded))
		for _, line := range recorded {
			count[line]++
		}
		common := 0
		for _, line := range asked {
			if count[line] > 0 {
				count[line]--
				common++
			}
		}
		if score := float64(2*common) / float64(len(recorded)+len(asked)); score > bestScore {
			best, bestScore = i, score
		}
	}
	return best
}
