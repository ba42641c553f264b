package opencode

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes/opencode"
	"github.com/understudyd/understudy/data"
)

// mirror is the file with the conversation. OpenCode keeps that in a database, which only its server reads, and the server
// ends with the agent. What is appended is whole lines; all other changes replace the file. A crash in the middle of an
// append leaves a line without its end, which readers skip and the next Follow replaces.
type mirror struct {
	path    string
	content []byte // of the file; nil: it was not written yet
}

// write brings the file up to date with the messages that will not change any more.
func (m *mirror) write(sight *opencode.Sight) error {
	return m.put(sight.Mirror(time.Now(), false))
}

// finish adds what is there of messages that OpenCode has not finished. Nobody else may be able to read them again.
func (m *mirror) finish(sight *opencode.Sight) error {
	if m.content == nil {
		return nil
	}
	return m.put(sight.Mirror(time.Now(), true))
}

func (m *mirror) put(lines []byte) error {
	if m.content != nil && bytes.Equal(lines, m.content) {
		return nil
	}
	var err error
	if more, ok := bytes.CutPrefix(lines, m.content); ok && m.content != nil {
		err = appendTo(m.path, more)
	} else {
		err = data.WriteFile(m.path, lines, 0o600)
	}
	if err != nil {
		return fmt.Errorf("conversation: %w", err)
	}
	m.content = lines
	return nil
}

func appendTo(path string, lines []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) // whoever removed it wants it whole again
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
