package replay

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// bytesPerNumber is how many bytes a number of a vector has.
const bytesPerNumber = 4

// encodeVectors returns vectors as the file has them: each as the base64 of its numbers, 4 bytes each, the
// lowest first.
func encodeVectors(vectors [][]float32) value.Value {
	list := make([]value.Value, len(vectors))
	for i, vector := range vectors {
		b := make([]byte, 0, bytesPerNumber*len(vector))
		for _, x := range vector {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		list[i] = value.OfString(base64.StdEncoding.EncodeToString(b))
	}
	return value.OfList(list...)
}

func decodeVectors(v value.Value) ([][]float32, error) {
	if v.Kind() != value.List {
		return nil, wording.Errorf("vectors: want an array, got %s", v.Kind())
	}
	vectors := make([][]float32, len(v.List()))
	for i, item := range v.List() {
		text, _ := item.Str()
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(b) == 0 || len(b)%bytesPerNumber != 0 {
			return nil, wording.Errorf("vectors/%d: want the base64 of a vector", i)
		}
		for part := range slices.Chunk(b, bytesPerNumber) {
			vectors[i] = append(vectors[i], math.Float32frombits(binary.LittleEndian.Uint32(part)))
		}
	}
	return vectors, nil
}
