// Lookup is a plugin with a call that finds rows of CSV files.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins/sdk"
)

func main() { sdk.Serve(plugin("data")) }

// plugin finds rows of the files in a folder, and of no others.
func plugin(dir string) sdk.Plugin {
	return sdk.Plugin{Name: "lookup", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Call("query", sdk.Doc{
			En: "Finds the rows of a CSV file whose columns have given values.",
			Zh: "在 CSV 文件中查找各列取给定值的行。",
		}, func(ctx context.Context, p Query) (Result, error) { return query(ctx, dir, p) },
			sdk.Example("Rooms by the sea", "table: rooms\nwhere: {view: sea}\ncolumns: [room, price]\n"),
		),
	}}
}

// Query is the parameters.
type Query struct {
	Table   string            `json:"table" doc:"Name of the file under data, without .csv" pattern:"^[a-z0-9_-]+$"`
	Where   map[string]string `json:"where,omitempty" doc:"Values by column; upper and lower case are the same"`
	Columns []string          `json:"columns,omitempty" doc:"The columns that are wanted; all where not given"`
	Limit   int               `json:"limit" default:"20" min:"1" max:"1000" doc:"How many rows at most"`
}

// Result is the output.
type Result struct {
	Rows  []*value.Map `json:"rows" doc:"The rows, by column"`
	Total int          `json:"total" doc:"How many rows match"`
}

func query(ctx context.Context, dir string, q Query) (result Result, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f, err := root.Open(q.Table + ".csv")
	if err != nil {
		return Result{}, &sdk.Error{Kind: "notfound", Message: fmt.Sprintf("there is no table %q", q.Table), Hint: "tables are CSV files under data"}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows := csv.NewReader(f)
	header, err := rows.Read()
	if err != nil {
		return Result{}, fmt.Errorf("reading the first line of %s.csv: %w", q.Table, err)
	}
	wanted := q.Columns
	if len(wanted) == 0 {
		wanted = header
	}
	if err := known(header, wanted, q.Where); err != nil {
		return Result{}, err
	}
	result.Rows = []*value.Map{}
	for ctx.Err() == nil {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return result, nil
		}
		if err != nil {
			return Result{}, fmt.Errorf("reading %s.csv: %w", q.Table, err)
		}
		if !matches(header, row, q.Where) {
			continue
		}
		result.Total++
		if result.Total > q.Limit {
			continue
		}
		out := value.NewMap(len(wanted))
		for _, column := range wanted {
			out.Set(column, value.OfString(row[slices.Index(header, column)]))
		}
		result.Rows = append(result.Rows, out)
	}
	return Result{}, ctx.Err()
}

func known(header, wanted []string, where map[string]string) error {
	for column := range where {
		wanted = append(slices.Clip(wanted), column)
	}
	for _, column := range wanted {
		if !slices.Contains(header, column) {
			e := &sdk.Error{Kind: "invalid", Message: fmt.Sprintf("there is no column %q", column)}
			e.Hint = "the columns are " + strings.Join(header, ", ")
			if near := value.DidYouMean(column, header); near != "" {
				e.Hint = near
			}
			return e
		}
	}
	return nil
}

func matches(header, row []string, where map[string]string) bool {
	for column, want := range where {
		if !strings.EqualFold(row[slices.Index(header, column)], want) {
			return false
		}
	}
	return true
}
