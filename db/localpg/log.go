package localpg

import (
	"io"
	"os"
	"path/filepath"
)

// maxLogBytes is the size above which a start renames the log to postgres.log.1.
const maxLogBytes = 1 << 20

// LogFile returns the path of the server's log.
func (c *Cluster) LogFile() string { return filepath.Join(c.dir, "postgres.log") }

// openLog opens the server's log for appending and returns its size.
func (c *Cluster) openLog() (*os.File, int64, error) {
	if info, err := os.Stat(c.LogFile()); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(c.LogFile(), c.LogFile()+".1"); err != nil {
			return nil, 0, err
		}
	}
	file, err := c.who.create(c.LogFile(), os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, 0, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, size, nil
}

// lastWords returns the reason that the server logged before it ended without having started.
func (c *Cluster) lastWords(s *server) string {
	file, err := os.Open(c.LogFile())
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, s.logged, maxLogBytes))
	if err != nil {
		return err.Error()
	}
	if len(text) == 0 {
		return "the server ended and logged nothing"
	}
	return complaint(text)
}
