package runtimes

import (
	"path/filepath"
	"slices"
	"strings"
)

// Reads names the tools whose calls in a transcript prove that the model has read a file. The zero value says that the
// transcript cannot prove it.
type Reads struct {
	Tools  []string // tools that are given the path of the file that they read
	Shells []string // tools that are given a command for a shell
}

// Shown reports whether a transcript can prove that a file was read.
func (r Reads) Shown() bool { return len(r.Tools)+len(r.Shells) > 0 }

func (r Reads) Has(tool string) bool {
	return slices.Contains(r.Tools, tool) || slices.Contains(r.Shells, tool)
}

// Call is a call of a tool in a transcript.
type Call struct {
	ID, Tool, Path, Command string
}

// Call notes a call that names a file or a command. edits says that the tool changes the file.
func (m *Message) Call(c Call, edits bool) {
	if c.ID != "" && (c.Path != "" || c.Command != "") {
		m.Called = append(m.Called, c)
	}
	if edits && c.Path != "" {
		m.Edited = append(m.Edited, Edit{Path: c.Path, Call: c.ID})
	}
}

// Answer notes the result of a call.
func (m *Message) Answer(id string, failed bool) {
	switch {
	case id == "":
	case failed:
		m.Failed = append(m.Failed, id)
	default:
		m.Done = append(m.Done, id)
	}
}

// Reading follows a transcript from its beginning, and notes which files the model has read since it took a prompt. Make one
// with [Runtime.Reading]. It is for one goroutine at a time.
type Reading struct {
	rt       *Runtime
	nonce    string
	prompted bool
	left     []string            // the files that were not read yet
	calls    map[string][]string // by the id of a call without a result: the files that it reads
}

// Reading returns a Reading of the files at paths, after the prompt with the nonce. The name of each file, without its
// folder, must be its own: a model may name a file by another path.
func (rt *Runtime) Reading(nonce string, paths []string) *Reading {
	return &Reading{rt: rt, nonce: nonce, left: slices.Clone(paths), calls: map[string][]string{}}
}

// Prompted reports whether the transcript shows the prompt.
func (r *Reading) Prompted() bool { return r.prompted }

// Left returns the files that the model has not read, in the order in which they were given. A call without a result, or
// with an error, has read nothing.
func (r *Reading) Left() []string { return r.left }

// Add reads the next whole lines of the transcript. It skips lines that it cannot read.
func (r *Reading) Add(jsonl []byte) {
	for line := range r.rt.lines(jsonl) {
		if !r.prompted {
			r.prompted = slices.ContainsFunc(line.userTexts(), func(raw []byte) bool { return strings.Contains(Unquote(raw), r.nonce) })
			continue
		}
		for _, c := range line.Message.Called {
			for _, path := range r.left {
				if r.rt.Can.Reads.proves(c, path) {
					r.calls[c.ID] = append(r.calls[c.ID], path)
				}
			}
		}
		for _, id := range line.Message.Done {
			r.left = slices.DeleteFunc(r.left, func(path string) bool { return slices.Contains(r.calls[id], path) })
			delete(r.calls, id)
		}
	}
}

// proves reports whether a call, if it succeeds, reads the file at path.
func (r Reads) proves(c Call, path string) bool {
	name := filepath.Base(path)
	switch {
	case slices.Contains(r.Tools, c.Tool):
		return filepath.Base(c.Path) == name
	case slices.Contains(r.Shells, c.Tool):
		return commandReads(c.Command, name)
	}
	return false
}

// readers are the programs that print a file.
var readers = []string{"awk", "bat", "batcat", "cat", "head", "less", "more", "nl", "sed", "tac", "tail"}

// commandReads reports whether a command of a shell has a program print the file with this name. A command that only lists
// the file, counts its lines or writes to it does not count.
func commandReads(command, name string) bool {
	before, _, named := strings.Cut(command, name)
	if !named {
		return false
	}
	if i := strings.LastIndexAny(before, " \t\n<>"); i >= 0 && strings.HasSuffix(strings.TrimRight(before[:i+1], " \t"), ">") {
		return false
	}
	parts := strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune("|&;\n(){}", c) })
	return slices.ContainsFunc(parts, func(part string) bool {
		words := strings.Fields(part)
		for len(words) > 0 && (words[0] == "do" || words[0] == "then" || words[0] == "sudo") {
			words = words[1:]
		}
		return len(words) > 0 && slices.Contains(readers, filepath.Base(words[0]))
	})
}
