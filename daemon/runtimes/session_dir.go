package runtimes

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
)

// SessionDir returns the directory in which a session works, by what a hook of it says; "": the hook does not tell. was is
// the session's transcript before the hook. begins says that the session begins with the hook, or is opened again.
//
// Claude Code's hooks name the directory of its shell, which a cd of the model changes. The session itself moves with
// EnterWorktree, ExitWorktree and /cd alone, and takes its transcript along, into a folder that is named after the directory
// of the session. So the session's directory is the one at or above cwd that has given the new folder its name. A session
// that is opened again in another work tree of its repository leaves its transcript where it was (all measured with 2.1.330).
func (rt *Runtime) SessionDir(cwd, transcript, was string, begins bool) string {
	if !filepath.IsAbs(cwd) {
		return ""
	}
	cwd = filepath.Clean(cwd)
	if begins || rt.Registry == nil || ConfigDirOfTranscript(transcript) == "" {
		return cwd
	}
	folder := filepath.Dir(transcript)
	if was != "" && filepath.Dir(was) == folder {
		return "" // the shell may be elsewhere, the session is not
	}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if namesProject(filepath.Base(folder), dir) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return cwd
		}
	}
}

// RemovesTree reports whether the process removes the work tree in which its session works when the session is told to exit. lock
// is what git keeps with the tree. Claude Code locks the trees that it makes (--worktree, EnterWorktree), as "claude session x
// (pid 7 start 70)". At /exit it asks whether to remove a tree, and removes a clean one of a session without a name unasked.
// SIGTERM leaves the tree (measured with 2.1.330).
func (rt *Runtime) RemovesTree(lock string, pid int) bool {
	return rt.Registry != nil && strings.HasPrefix(lock, "claude session ") && strings.Contains(lock, "(pid "+strconv.Itoa(pid)+" ")
}

// maxProject is the longest name of a folder of transcripts. Claude Code cuts a longer one, and adds a checksum.
const maxProject = 200

// namesProject reports whether Claude Code keeps the transcripts of dir in a folder of the given name. It replaces all but
// letters and digits.
func namesProject(folder, dir string) bool {
	folder, dir = projectName(folder), projectName(dir)
	if len(dir) > maxProject {
		return strings.HasPrefix(folder, dir[:maxProject]) && len(folder) > maxProject
	}
	return folder == dir
}

func projectName(path string) string {
	var name strings.Builder
	for _, r := range path {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			name.WriteRune(r)
			continue
		}
		name.WriteString(strings.Repeat("-", max(utf16.RuneLen(r), 1)))
	}
	return name.String()
}

// TranscriptIn returns where a session that has moved to dir keeps its transcript, which was at was; "": the runtime does not
// say it by a name.
func (rt *Runtime) TranscriptIn(dir, was string) string {
	config := ConfigDirOfTranscript(was)
	if rt.Registry == nil || config == "" || len(projectName(dir)) > maxProject {
		return ""
	}
	return filepath.Join(config, "projects", projectName(dir), filepath.Base(was))
}

// TranscriptMoved reports whether path may be where the session's transcript is now, which was at was. A session that moves
// takes its transcript along under the same name, or goes on in another file of the same folder.
func (rt *Runtime) TranscriptMoved(was, path, session string) bool {
	if !filepath.IsAbs(path) || path == was || filepath.Ext(path) != filepath.Ext(was) {
		return false
	}
	if rt.Registry != nil && ConfigDirOfTranscript(was) != "" {
		return ConfigDirOfTranscript(path) == ConfigDirOfTranscript(was) && filepath.Base(path) == session+".jsonl"
	}
	return filepath.Base(path) == filepath.Base(was) || filepath.Dir(path) == filepath.Dir(was)
}
