//go:build !linux

package process

// canLimitMemory reports whether limitMemory works on this system: others than Linux cannot
// limit the memory of another process.
const canLimitMemory = false

func limitMemory(int, uint64) {}
