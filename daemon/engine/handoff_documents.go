package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// Document returns a handoff's document from its file. If the file is gone, or is on another machine, it returns the
// document from the record.
func (d *Daemon) Document(ctx context.Context, id int64) ([]byte, error) {
	h, err := d.Handoff(ctx, id)
	if err != nil {
		return nil, err
	}
	dir, err := d.dataDirOf(ctx, h.Host)
	if err != nil {
		return nil, err
	}
	doc, err := data.ReadDocument(dir.Handoffs(h.Persona), h.FilePath, d.Settings().Handoff.MaxDocumentBytes)
	bad := (*data.DocumentError)(nil)
	if !errors.As(err, &bad) {
		return doc.Bytes, err
	}
	if rec, err := d.Store.Record(ctx, id); err == nil {
		return []byte(rec.Document), nil
	}
	return nil, daemon.Errorf(daemon.KindNotFound, daemon.Code(bad.Code), "%s", bad.Message)
}

// Record returns what a handoff passed on. The error is a 404 for an unknown handoff, and for one without a record.
func (d *Daemon) Record(ctx context.Context, id int64) (daemon.Record, error) {
	if _, err := d.Handoff(ctx, id); err != nil {
		return daemon.Record{}, err
	}
	rec, err := d.Store.Record(ctx, id)
	if errors.Is(err, daemon.ErrNotFound) {
		return rec, daemon.Errorf(daemon.KindNotFound, daemon.CodeRecordMissing, "Handoff has no record yet")
	}
	return rec, err
}

// ContextFile returns a handoff's context file as it was recorded.
func (d *Daemon) ContextFile(ctx context.Context, id int64) ([]byte, error) {
	h, err := d.Handoff(ctx, id)
	if err != nil {
		return nil, err
	}
	missing := daemon.Errorf(daemon.KindNotFound, daemon.CodeContextMissing, "Handoff has no context file yet")
	if h.ContextPath == nil {
		return nil, missing
	}
	rec, err := d.Store.Record(ctx, id)
	if !errors.Is(err, daemon.ErrNotFound) {
		return []byte(rec.Context), err
	}
	dir, err := d.dataDirOf(ctx, h.Host) // read the file: an older version of the daemon kept no copy
	if err != nil {
		return nil, err
	}
	file, err := data.ReadDocument(dir.Handoffs(h.Persona), *h.ContextPath, h.Metrics.ContextSizeBytes)
	if bad := (*data.DocumentError)(nil); errors.As(err, &bad) {
		return nil, missing
	}
	return file.Bytes, err
}

// lastHandoffs returns the newest three recorded documents of a persona, the newest first. Only documents on the
// given host are named, because agents can read them only there.
func (d *Daemon) lastHandoffs(ctx context.Context, host, slug string) ([]string, error) {
	const most = 3
	var paths []string
	for _, name := range append([]string{slug}, d.formerSlugs(slug)...) { // the newest name first
		list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{Persona: name, Host: host, Limit: 50})
		if err != nil {
			return nil, fmt.Errorf("handoffs of %s: %w", name, err)
		}
		for i := range list {
			if list[i].RecordedAt == nil || len(paths) == most {
				continue
			}
			file := list[i].FilePath
			if name != slug { // the folder was renamed, and the rows say what was
				file = filepath.Join(d.Data.Handoffs(slug), filepath.Base(file))
			}
			paths = append(paths, file)
		}
	}
	return paths, nil
}

// makeFolder makes the folder of the document. It returns the failure if it cannot.
func (r *handoffRun) makeFolder() *outcome {
	if err := os.MkdirAll(filepath.Dir(r.h.FilePath), 0o700); err != nil {
		out := r.failed(daemon.CodeFolderUnwritable, "The handoff folder could not be made: %v", err)
		return &out
	}
	return nil
}
