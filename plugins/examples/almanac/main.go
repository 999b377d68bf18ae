// Almanac is a plugin with variables that it reads from local files: the entries of the calendar, and the weather.
package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/sdk"
)

func main() { sdk.Serve(plugin("data")) }

// plugin reads calendar.csv and weather.json in a folder, at each request.
func plugin(dir string) sdk.Plugin {
	a := almanac{os.DirFS(dir)}
	return sdk.Plugin{Name: "almanac", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Variable("events_today", sdk.Doc{En: "The events of today, by time.", Zh: "今天的日程，按时间排序。"}, a.today),
		sdk.Variable("next_event", sdk.Doc{En: "The next event from now on.", Zh: "从现在起的下一个日程。"}, a.next),
		sdk.Variable("weather", sdk.Doc{En: "The weather of today.", Zh: "今天的天气。"}, a.weather),
	}}
}

type almanac struct{ files fs.FS }

// Event is one line of calendar.csv: start, title, place.
type Event struct {
	Start time.Time `json:"start" doc:"When it begins"`
	Title string    `json:"title" doc:"What it is"`
	Place string    `json:"place,omitempty" doc:"Where it is"`
}

func (a almanac) events() ([]Event, error) {
	f, err := a.files.Open("calendar.csv")
	if err != nil {
		return nil, fmt.Errorf("reading the calendar: %w", err)
	}
	rows, err := csv.NewReader(f).ReadAll()
	err = errors.Join(err, f.Close())
	if err != nil {
		return nil, fmt.Errorf("reading the calendar: %w", err)
	}
	var events []Event
	for i, row := range rows[min(1, len(rows)):] {
		if len(row) != 3 {
			return nil, fmt.Errorf("calendar.csv:%d: want start, title and place", i+2)
		}
		start, err := time.Parse(time.RFC3339, row[0])
		if err != nil {
			return nil, fmt.Errorf("calendar.csv:%d: %w", i+2, err)
		}
		events = append(events, Event{start, row[1], row[2]})
	}
	slices.SortStableFunc(events, func(x, y Event) int { return x.Start.Compare(y.Start) })
	return events, nil
}

func (a almanac) today(_ context.Context, state plugins.State) ([]Event, error) {
	events, err := a.events()
	day := state.Now.Format(time.DateOnly)
	return slices.DeleteFunc(events, func(e Event) bool {
		return e.Start.In(state.Now.Location()).Format(time.DateOnly) != day
	}), err
}

func (a almanac) next(_ context.Context, state plugins.State) (Event, error) {
	events, err := a.events()
	if err != nil {
		return Event{}, err
	}
	for _, e := range events {
		if !e.Start.Before(state.Now) {
			return e, nil
		}
	}
	return Event{}, sdk.ErrNoValue
}

// Weather is the weather of one day.
type Weather struct {
	Sky  string  `json:"sky" doc:"In words"`
	Low  float64 `json:"low" doc:"Degrees Celsius"`
	High float64 `json:"high" doc:"Degrees Celsius"`
}

func (a almanac) weather(_ context.Context, state plugins.State) (Weather, error) {
	text, err := fs.ReadFile(a.files, "weather.json")
	if err != nil {
		return Weather{}, fmt.Errorf("reading the weather: %w", err)
	}
	var days map[string]Weather
	if err := json.Unmarshal(text, &days); err != nil {
		return Weather{}, fmt.Errorf("reading weather.json: %w", err)
	}
	w, ok := days[state.Now.Format(time.DateOnly)]
	if !ok {
		return Weather{}, sdk.ErrNoValue
	}
	return w, nil
}
