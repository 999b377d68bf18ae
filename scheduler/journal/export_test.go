package journal

// Exec changes the file behind the journal's back.
func (j *SQLite) Exec(query string, args ...any) error {
	return j.writer.await(func(tx *tx) error {
		_, err := tx.exec(query, args...)
		return err
	})
}
