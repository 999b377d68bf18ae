package server

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// jsonFormat writes < and & unescaped: the texts of prompts are full of them. It refuses bytes that encoding/json
// would replace with U+FFFD, and repeated keys, of which that would use the last.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		if wrong := value.FindEncodingError(data); wrong != nil {
			return wrong
		}
		data = value.WithoutMark(data)
		if i := value.FindHalfPair(string(data)); i >= 0 {
			line, col := value.LineCol(string(data), i)
			return wording.Errorf("%d:%d: %w", line, col, wording.Errorf("%s", value.HalfPairMessage(string(data[i:]))))
		}
		if err := json.Unmarshal(data, v); err != nil {
			return err
		}
		_, err := value.ParseStrictJSON(data)
		return err
	},
}

// writeJSON answers with a JSON document.
func writeJSON(w http.ResponseWriter, status int, media string, v any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = jsonFormat.Marshal(w, v) // the client may have gone
}
