//go:build !linux

package process

// OpenProgram copies the program of a path into the folder of sockets.
func OpenProgram(path, sockets string) (*Program, error) { return copyProgram(path, sockets) }

// execPath returns the path of the copy. A script is started by its own path: its interpreter finds the files
// beside it.
func (p *Program) execPath(path string) string {
	if p == nil || p.isScript() {
		return path
	}
	return p.file.Name()
}
