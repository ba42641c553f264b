package handoffs

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// Document returns a handoff's document from its file. If the file is gone, or is on another machine, it returns the
// document from the record.
func (d *Flow) Document(ctx context.Context, id int64) ([]byte, error) {
	h, err := d.Handoff(ctx, id)
	if err != nil {
		return nil, err
	}
	dir, err := d.DataDirOf(ctx, h.Host)
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
func (d *Flow) Record(ctx context.Context, id int64) (daemon.Record, error) {
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
func (d *Flow) ContextFile(ctx context.Context, id int64) ([]byte, error) {
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
	dir, err := d.DataDirOf(ctx, h.Host) // read the file: an older version of the daemon kept no copy
	if err != nil {
		return nil, err
	}
	file, err := data.ReadDocument(dir.Handoffs(h.Persona), *h.ContextPath, h.Metrics.ContextSizeBytes)
	if bad := (*data.DocumentError)(nil); errors.As(err, &bad) {
		return nil, missing
	}
	return file.Bytes, err
}

// makeFolder makes the folder of the document. It returns the failure if it cannot.
func makeFolder(r *handoffRun) *outcome {
	if err := os.MkdirAll(filepath.Dir(r.h.FilePath), 0o700); err != nil {
		out := r.failed(daemon.CodeFolderUnwritable, "The handoff folder could not be made: %v", err)
		return &out
	}
	return nil
}
