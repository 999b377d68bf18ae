package sqlitefile

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// LostLogError means that the write-ahead log of a file is missing or damaged, so the last changes are lost.
// SQLite itself would open the file as if they had never been made.
type LostLogError struct {
	// File is the path of the log.
	File string
	// Problem describes the damage.
	Problem wording.Text
}

// Error names the log.
func (e *LostLogError) Error() string { return e.text().En }

// In names the log in a language.
func (e *LostLogError) In(language string) string { return e.text().In(language) }

func (e *LostLogError) text() wording.Text {
	return wording.Say("its write-ahead log %s %s, so that what was written last is lost", filepath.Base(e.File), e.Problem)
}

// The log of a file that other processes are opening or closing may look lost for a moment.
const (
	logChecks = 4
	logPause  = 25 * time.Millisecond
)

// checkLog returns a [*LostLogError] if the log of a file lacks committed changes. It reads the files themselves,
// before SQLite treats an incomplete log as a complete one.
func checkLog(file string) error {
	for n := 1; ; n++ {
		problem, err := logProblem(file)
		if err != nil || problem.En == "" {
			return err
		}
		if n == logChecks {
			return &LostLogError{file + "-wal", problem}
		}
		time.Sleep(logPause)
	}
}

// logProblem describes the fault of a file's log, or of the file itself; empty if all is well.
func logProblem(file string) (problem wording.Text, err error) {
	// SQLite deletes the log of a file that is empty or missing, with any content.
	if sizeOf(file) <= 0 && sizeOf(file+"-wal") >= logHeader+frameHeader {
		return wording.Say("is there, but not the file %s that it belongs to", filepath.Base(file)), nil
	}
	index, err := readFileIfAny(file + "-shm") // before the log, which only grows
	if err != nil {
		return problem, err
	}
	log, err := readFileIfAny(file + "-wal")
	if err != nil {
		return problem, err
	}
	known := parseLogIndex(index)
	if log == nil {
		isLost := known.frames > known.moved
		if known.frames == 0 {
			isLost = isLost || lacksSchema(file) && sizeOf(file+creationSuffix) < 0
		}
		if isLost {
			return wording.Say("is missing"), nil
		}
		return problem, nil
	}
	if len(log) < logHeader+frameHeader {
		if known.frames > known.moved {
			return wording.Say("is cut off"), nil
		}
		return problem, nil
	}
	return frameProblem(log, known), nil
}

// The sizes of the parts of a log, other than its pages.
const (
	logHeader   = 32
	frameHeader = 24
)

// frameProblem describes the fault of a log's frames; empty if all is well.
func frameProblem(log []byte, known logIndex) wording.Text {
	order, sum, ok := checkLogHeader(log)
	if !ok {
		return wording.Say("is damaged at its beginning")
	}
	size := frameHeader + int(binary.BigEndian.Uint32(log[8:]))
	salt := string(log[16:24])
	valid := uint32(0)
	rest := log[logHeader:]
	for ; len(rest) >= size && string(rest[8:16]) == salt; rest = rest[size:] {
		sum = sum.add(order, rest[:8]).add(order, rest[frameHeader:size])
		if !sum.matches(rest[16:24]) {
			break
		}
		valid++
	}
	// Uncommitted frames may end anywhere. If other processes have restarted the log, the index has another salt.
	if known.frames > known.moved && !mayFollow(salt, known.salt) {
		return wording.Say("is that of another file")
	}
	isKnown := known.salt == salt && known.frames > max(valid, known.moved)
	if isKnown || countCommits(rest, size, salt) > 1 {
		return wording.Say("is damaged or cut off after %d pages", valid)
	}
	return wording.Text{}
}

// maxRestarts is how often a log may have begun again since its index was written: an index
// that a power cut left on the disk is older than the log.
const maxRestarts = 1 << 20

// mayFollow reports whether a log with that salt is the one of an index, or one that the same
// processes have begun after it: its first half counts how often they did, and starts
// anywhere.
func mayFollow(salt, index string) bool {
	number := func(salt string) uint32 { return binary.BigEndian.Uint32([]byte(salt)) }
	return number(salt)-number(index) < maxRestarts
}

// checkLogHeader returns the byte order of the checksums of a log, and the first of them.
func checkLogHeader(log []byte) (order binary.ByteOrder, sum checksum, ok bool) {
	switch binary.BigEndian.Uint32(log) {
	case 0x377f0682:
		order = binary.LittleEndian
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return nil, sum, false
	}
	sum = sum.add(order, log[:24])
	return order, sum, sum.matches(log[24:32])
}

// countCommits returns how many frames with that salt end a transaction.
func countCommits(frames []byte, size int, salt string) (n int) {
	for ; len(frames) >= size; frames = frames[size:] {
		if string(frames[8:16]) == salt && binary.BigEndian.Uint32(frames[4:]) != 0 {
			n++
		}
	}
	return n
}

// checksum is the checksum in SQLite's logs.
type checksum [2]uint32

// add takes data, of a length that is a multiple of 8.
func (s checksum) add(order binary.ByteOrder, data []byte) checksum {
	for ; len(data) >= 8; data = data[8:] {
		s[0] += order.Uint32(data) + s[1]
		s[1] += order.Uint32(data[4:]) + s[0]
	}
	return s
}

func (s checksum) matches(stored []byte) bool {
	return s[0] == binary.BigEndian.Uint32(stored) && s[1] == binary.BigEndian.Uint32(stored[4:])
}

// logIndex is the data about a log in its index, the file that ends with -shm.
type logIndex struct {
	frames uint32 // the committed frames
	moved  uint32 // those already copied to the file itself
	salt   string
}

// parseLogIndex reads an index; it is zero if there is none.
func parseLogIndex(index []byte) logIndex {
	const end = 100
	if len(index) < end || index[12] == 0 {
		return logIndex{}
	}
	return logIndex{
		frames: binary.NativeEndian.Uint32(index[16:]), moved: binary.NativeEndian.Uint32(index[96:]), salt: string(index[32:40]),
	}
}

// lacksSchema reports whether a file has been made to have a log and has no table: its tables were written to its
// log first, unless the file was still being created.
func lacksSchema(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [108]byte
	if n, _ := f.ReadAt(head[:], 0); n < len(head) {
		return false
	}
	const writeVersion, firstPage, cells = 18, 100, 3
	return head[writeVersion] == 2 && binary.BigEndian.Uint16(head[firstPage+cells:]) == 0
}

// readFileIfAny reads a file; nil if there is none.
func readFileIfAny(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// sizeOf returns the size of a file, -1 if there is none.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return -1
	}
	return info.Size()
}

// creationSuffix ends the name of an empty file beside a new one until its tables are on the disk. A process that
// is killed before leaves a file that looks like one whose log is lost.
const creationSuffix = "-new"
