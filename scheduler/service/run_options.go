package service

import (
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// runOptions are kept with a run, so that it continues as it began.
type runOptions struct {
	LLM      string `json:"llm"`
	Mode     string `json:"mode,omitempty"`
	Seed     int64  `json:"seed"`
	Language string `json:"language"`
	// Dir is the folder of the project, from which relative paths of plugins start.
	Dir string `json:"dir,omitempty"`
	// Bound is [Principal] Bound of the user who began it.
	Bound bool `json:"bound,omitempty"`
	// Strict is [StartRequest] Strict.
	Strict bool `json:"strict,omitempty"`
	// Until is [StartRequest] Until.
	Until string `json:"until,omitempty"`
	// Address is the server that distributes the run, for example temporal://HOST:PORT; "" if this store's processes carry it out.
	Address string `json:"address,omitempty"`
	// MaxTokens and Models are set for a run that another one waits for: see MaxTokens and LLM of
	// [scheduler.StepExecutor].
	MaxTokens int      `json:"max_tokens,omitempty"`
	Models    []string `json:"models,omitempty"`
}

// optionsOf returns the options with which a run began.
func optionsOf(h *journal.RunHeader) (options runOptions, err error) {
	if err := value.Decode(h.Options, &options); err != nil {
		return options, markUnavailable(wording.Errorf("the options of the run %s: %w", h.ID, err))
	}
	return options, nil
}

// projectDir returns the folder of the project, absolute; "" if the working directory was removed.
func (s *Service) projectDir() string {
	dir, err := filepath.Abs(s.parts.Dir)
	if err != nil {
		return ""
	}
	return dir
}

// localDir returns the folder of the project of a run that began in dir: that folder if it still exists, else this
// process's, for example on another machine.
func (s *Service) localDir(dir string) string {
	if s.parts.Rooted {
		return s.projectDir()
	}
	if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
		return dir
	}
	return s.projectDir()
}
