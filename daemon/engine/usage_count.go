package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// usageEvery is how often the usage of an agent is counted while its turn runs.
const usageEvery = 3 * time.Second

// maxUsageLine is the longest line that is read for usage, in bytes. A longer one is skipped.
const maxUsageLine = 64 << 20

// costOf is the path under which the cost that a session has reported is kept.
func costOf(session string) string { return "cost of session " + session }

// usageMemory is how far the transcripts of an agent were read for their usage. It is replaced and never changed.
type usageMemory struct {
	at    time.Time               // of the last count
	reads map[string]usageReading // by path
}

// usageReading is how far one transcript was read.
type usageReading struct {
	offset int64
	model  string
}

// usageFiles returns the transcripts of an agent of which usage may be counted.
func (d *Daemon) usageFiles(a *daemon.Agent, known map[string]usageReading) []string {
	rt := d.runtimeOf(a)
	if rt.Can.Tokens == "" || a.TranscriptPath == nil {
		return nil
	}
	paths := map[string]bool{*a.TranscriptPath: true}
	for path := range known {
		paths[path] = true
	}
	for path := range maps.Clone(paths) {
		if dir := rt.UsageDir(path); dir != "" {
			for _, file := range filesOfSubagents(dir) {
				paths[file] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// maxSubagentFiles is how many files and folders are looked at for the sub-agents of a session.
const maxSubagentFiles = 20_000

// filesOfSubagents returns the transcripts below a session's folder. It follows no link.
func filesOfSubagents(dir string) (files []string) {
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // what cannot be read has nothing to count
		if seen++; seen > maxSubagentFiles {
			return filepath.SkipAll
		}
		switch {
		case err != nil:
		case e.IsDir() && e.Name() == runtimes.NotUsage:
			return filepath.SkipDir
		case e.Type().IsRegular() && strings.HasSuffix(path, ".jsonl"):
			files = append(files, path)
		}
		return nil
	})
	return files
}

// countedOf returns how far the transcripts of an agent were read, as far as this daemon knows.
func (d *Daemon) countedOf(a *daemon.Agent) usageMemory {
	if m := d.memories.of(a.ID).usage; m != nil {
		return *m
	}
	return usageMemory{}
}

// usageGrew reports whether a transcript of an agent has more than was read of it for its usage.
func (d *Daemon) usageGrew(a *daemon.Agent) bool {
	m := d.countedOf(a)
	for _, path := range d.usageFiles(a, m.reads) {
		fi, err := os.Stat(path)
		if err == nil && fi.Mode().IsRegular() && fi.Size() != m.reads[path].offset {
			return true
		}
	}
	return false
}

// countUsage counts what an agent's transcripts say that is new, at most once in usageEvery while a turn runs. How far they were
// read is committed with what was counted. Then it warns of the persona's budget.
func (d *Daemon) countUsage(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	if !d.usageGrew(a) {
		return d.seeToBudget(ctx, a)
	}
	if since := time.Since(d.countedOf(a).at); a.State == daemon.Working && since < usageEvery {
		return false, usageEvery - since, nil
	}
	if err := d.countNow(ctx, a); err != nil {
		return false, 0, err
	}
	return d.seeToBudget(ctx, a)
}

// countNow counts what an agent's transcripts say that is new.
func (d *Daemon) countNow(ctx context.Context, a *daemon.Agent) error {
	m := d.countedOf(a)
	if m.reads == nil {
		reads, err := d.Store.UsageReads(ctx, d.Host, a.ID, d.usageFiles(a, nil))
		if err != nil {
			return err
		}
		m.reads = map[string]usageReading{}
		for _, r := range reads {
			if filepath.IsAbs(r.Path) {
				m.reads[r.Path] = usageReading{r.ReadTo, r.Model}
			}
		}
	}
	m.reads = maps.Clone(m.reads)
	m.at = time.Now()
	for _, path := range d.usageFiles(a, m.reads) {
		next, err := d.countFile(ctx, a, path, m.reads[path])
		if err != nil {
			d.memories.change(a.ID, func(all *agentMemory) { all.usage = nil }) // read from the rows how far it was counted
			return fmt.Errorf("agent %d: usage: %w", a.ID, err)
		}
		m.reads[path] = next
	}
	d.memories.change(a.ID, func(all *agentMemory) { all.usage = &m })
	return nil
}

// countFile counts what a transcript says from was on. A file that is not there or cannot be read has nothing to count.
func (d *Daemon) countFile(ctx context.Context, a *daemon.Agent, path string, was usageReading) (usageReading, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would wait for its writer
	if err != nil {
		return was, nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return was, nil
	}
	from := was.offset
	at := usageReading{model: was.model}
	if at.offset = from; fi.Size() < from {
		at.offset = 0 // it was written anew; what was counted counts once
	}
	for {
		b, err := nextLines(f, at.offset, fi.Size())
		if err != nil || len(b) == 0 {
			return at, nil
		}
		answers := d.answers(a, path, b, &at)
		at.offset += int64(len(b))
		in := daemon.UsageAdded{Agent: a, From: from, Answers: answers, Read: daemon.UsageRead{Host: d.Host, Path: path, ReadTo: at.offset, Model: at.model}}
		if err := d.Store.AddUsage(ctx, in); err != nil {
			return was, err
		}
		from = at.offset
	}
}

// answers returns what whole lines of a transcript say about usage, each answer once.
func (d *Daemon) answers(a *daemon.Agent, path string, lines []byte, at *usageReading) []runtimes.Usage {
	rt, now := d.runtimeOf(a), d.now()
	var answers []runtimes.Usage
	of := map[string]int{}
	for line := range bytes.Lines(lines) {
		u, ok := rt.Usage(path, line)
		if u.Model != "" {
			at.model = u.Model
		}
		if !ok || min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 || u.Tokens.Total() > maxAnswer {
			continue
		}
		if u.Model == "" {
			u.Model = at.model
		}
		if u.At.IsZero() || u.At.After(now) {
			u.At = now // an answer is not of tomorrow's budget
		}
		i, again := of[u.Key]
		if !again {
			of[u.Key] = len(answers)
			answers = append(answers, u)
			continue
		}
		answers[i].Grow(&u)
	}
	return answers
}

// maxAnswer is how many tokens an answer can have at most. More is no answer but a broken line.
const maxAnswer = 1 << 40

// nextLines returns the next whole lines from an offset on, of which the file had size bytes a moment ago: none, if there is no whole
// line yet.
func nextLines(f *os.File, offset, size int64) ([]byte, error) {
	for size := chunkFor(size - offset); ; size *= 2 {
		b := make([]byte, size)
		n, err := f.ReadAt(b, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if end := bytes.LastIndexByte(b[:n], '\n') + 1; end > 0 || n < size {
			return b[:end], nil
		}
		if size >= maxUsageLine {
			return b, nil // skipped part by part
		}
	}
}

// reportCost counts what a session's cost has grown by since its last report. A cost that is less than the last one began anew.
func (d *Daemon) reportCost(ctx context.Context, a *daemon.Agent, session string, usd float64) error {
	total, ok := runtimes.Micros(usd)
	if !ok {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadContext, "cost_usd must not be negative")
	}
	path := costOf(session)
	for {
		reads, err := d.Store.UsageReads(ctx, d.Host, 0, []string{path})
		if err != nil {
			return err
		}
		was := int64(0)
		if len(reads) > 0 {
			was = reads[0].ReadTo
		}
		if total == was {
			return nil
		}
		now := d.now()
		in := daemon.UsageAdded{Agent: a, From: was, Read: daemon.UsageRead{Host: d.Host, Path: path, ReadTo: total}}
		if more := costMore(was, total); more > 0 {
			in.Answers = []runtimes.Usage{{Key: fmt.Sprintf("%s to %d at %d", path, total, now.UnixMicro()), At: now, Micros: &more}}
		}
		err = d.Store.AddUsage(ctx, in)
		if errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil {
			continue
		}
		if err == nil {
			d.Wake(a.ID)
		}
		return err
	}
}

// costMore returns by how much a cost has grown.
func costMore(was, total int64) int64 {
	if total < was {
		return total
	}
	return total - was
}

// noteTranscript has the usage of a new transcript counted, also if the agent has left it before it was read. was is the
// transcript before the hook.
func (h *hookStep) noteTranscript(was *string) {
	a := h.tx.Agent
	if a.TranscriptPath == nil || was != nil && *was == *a.TranscriptPath || h.runtimeOf(a).Can.Tokens == "" {
		return
	}
	h.out.Change.UsageReads = append(h.out.Change.UsageReads, a.UsageIn(*a.TranscriptPath))
}
