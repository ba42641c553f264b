package handoffs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// maxFiles is how many files a context file names.
const maxFiles = 500

// touchedBefore begins the note of a file that an earlier agent touched. What that agent's own note says of the file may no
// longer hold: the file may have been committed since.
const touchedBefore = "before, by "

// withEarlier returns the files that an agent touched, then those that the agents before it touched and it did not, the
// newest first; at most maxFiles. line has the records of these agents, the newest first. dirs are the working directories of
// agents, to which their paths are relative. left is how many files it left out.
func withEarlier(own []data.Reference, cwd string, line []daemon.Record, dirs map[int64]string) (files []data.Reference, left int) {
	seen := map[string]bool{}
	add := func(f data.Reference) {
		if !seen[f.Path] {
			seen[f.Path] = true
			files = append(files, f)
		}
	}
	for _, f := range own {
		add(f)
	}
	for i := range line {
		rec := &line[i]
		for _, f := range rec.References {
			f.Path = inDir(cwd, dirs[rec.AgentID], f.Path)
			switch {
			case strings.HasPrefix(f.Note, touchedBefore), strings.HasPrefix(f.Note, "deleted "+touchedBefore): // a step passes on what it was given
			case strings.HasPrefix(f.Note, "deleted"):
				f.Note = "deleted " + touchedBefore + rec.Agent
			default:
				f.Note = touchedBefore + rec.Agent
			}
			add(f)
		}
	}
	n := min(len(files), maxFiles)
	return files[:n], len(files) - n
}

// inDir returns a path, which is relative to the directory was, as an agent in cwd must write it. was "": it is not known.
func inDir(cwd, was, path string) string {
	if was == "" || was == cwd || path == "" {
		return path
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(was, path)
	}
	if in, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(in) {
		return in
	}
	return path
}

// dirsOf returns the working directories of the agents of records.
func dirsOf(ctx context.Context, store daemon.Store, line []daemon.Record) (map[int64]string, error) {
	var ids []int64
	for i := range line {
		if len(line[i].References) > 0 {
			ids = append(ids, line[i].AgentID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	agents, err := store.AgentsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	dirs := map[int64]string{}
	for i := range agents {
		dirs[agents[i].ID] = agents[i].Cwd
	}
	return dirs, nil
}

// earlierSession is a session that an agent had before the one in its pane: a person has cleared it, or has changed to another.
type earlierSession struct {
	path  string
	ended time.Time // when its transcript was written last
}

// earlierSessions returns the earlier sessions of an agent whose transcripts are there, the newest first.
func earlierSessions(ctx context.Context, store daemon.Store, a *daemon.Agent) (list []earlierSession, err error) {
	reads, err := store.UsageReads(ctx, a.Host, a.ID, nil)
	if err != nil {
		return nil, fmt.Errorf("earlier sessions of agent %d: %w", a.ID, err)
	}
	for i := range reads {
		path := reads[i].Path
		ofSubagent := slices.ContainsFunc(reads, func(r daemon.UsageRead) bool {
			return strings.HasPrefix(path, strings.TrimSuffix(r.Path, ".jsonl")+"/")
		})
		if !filepath.IsAbs(path) || ofSubagent || filepath.Base(path) == filepath.Base(*a.TranscriptPath) {
			continue
		}
		fi, err := os.Stat(path)
		if err == nil && fi.Mode().IsRegular() {
			list = append(list, earlierSession{path, fi.ModTime()})
		}
	}
	slices.SortFunc(list, func(x, y earlierSession) int { return cmp.Or(y.ended.Compare(x.ended), cmp.Compare(x.path, y.path)) })
	return list, nil
}
