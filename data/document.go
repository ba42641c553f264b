package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/words"
)

// What can be wrong with a handoff document; see [DocumentError].
const (
	DocumentMissing    = "document_missing"
	DocumentEmpty      = "document_empty"       // no bytes at all
	DocumentBlank      = "document_blank"       // white space only
	DocumentNotRegular = "document_not_regular" // a directory, a fifo, a device
	DocumentOutside    = "document_outside"     // not in the persona's handoffs/
	DocumentTooLarge   = "document_too_large"
	DocumentUnstable   = "document_unstable"   // somebody was still writing
	DocumentNotText    = "document_not_text"   // NUL bytes or invalid UTF-8
	DocumentUnreadable = "document_unreadable" // the system refused
)

// DocumentError says why a handoff document does not count: a code for machines and a
// sentence, with the path, for the operator.
type DocumentError struct {
	Code    string
	Message string
	cause   error
}

func (e *DocumentError) Error() string { return e.Message }

// Unwrap returns the system's error, nil if there was none.
func (e *DocumentError) Unwrap() error { return e.cause }

// Document is a handoff document as it was read, whole and at rest.
type Document struct {
	Path    string
	Bytes   []byte
	SHA256  string // of Bytes, in hexadecimal
	ModTime time.Time
}

// HandoffName is the name of the document that an agent was asked for at a time.
func HandoffName(at time.Time, agentID int64) string {
	return fmt.Sprintf("%s-%08d.md", at.UTC().Format("20060102T150405"), agentID)
}

// ContextPath is the path of the context file that stands beside a document.
func ContextPath(document string) string {
	return strings.TrimSuffix(document, ".md") + ".context.md"
}

// ReadDocument reads the handoff document at path, which must lie in handoffsDir and hold at
// most max bytes. Every error is a [DocumentError]. What is checked is what is read: the file
// is opened once, below an open handle of the folder, and nothing is looked up twice by name.
// A link may lead to another file of the folder, not out of it. It never blocks on a fifo.
func ReadDocument(handoffsDir, path string, max int64) (Document, error) {
	return readDocument(handoffsDir, path, max, func() {})
}

// readDocument is ReadDocument that calls between after reading and before looking whether
// the file has changed meanwhile.
func readDocument(handoffsDir, path string, max int64, between func()) (Document, error) {
	name, ok := inside(handoffsDir, path)
	if !ok {
		return Document{}, refuse(DocumentOutside, nil, "handoff document %q is not inside %q", path, handoffsDir)
	}
	folder, err := openHandoffs(handoffsDir)
	if err != nil {
		return Document{}, lookupError(path, err)
	}
	defer folder.Close()
	f, err := openDocument(folder, name)
	if err != nil {
		return Document{}, lookupError(path, err)
	}
	defer f.Close()

	before, err := f.Stat()
	if err != nil {
		return Document{}, lookupError(path, err)
	}
	switch {
	case !before.Mode().IsRegular():
		return Document{}, lookupError(path, errNotRegular)
	case before.Size() == 0:
		return Document{}, refuse(DocumentEmpty, nil, "handoff document %q is empty", path)
	case before.Size() > max:
		return Document{}, refuse(DocumentTooLarge, nil, "handoff document %q has %d bytes and the limit is %d", path, before.Size(), max)
	}
	b, err := io.ReadAll(io.LimitReader(f, before.Size()+1))
	if err != nil {
		return Document{}, lookupError(path, err)
	}
	between()
	if !unchanged(folder, name, f, before) || int64(len(b)) != before.Size() {
		return Document{}, refuse(DocumentUnstable, nil, "handoff document %q changed while it was read", path)
	}
	if err := checkText(path, b); err != nil {
		return Document{}, err
	}
	sum := sha256.Sum256(b)
	return Document{Path: path, Bytes: b, SHA256: hex.EncodeToString(sum[:]), ModTime: before.ModTime()}, nil
}

// inside returns path relative to dir, if it is inside: as written, or else after the links
// in the names of both folders are resolved (/tmp is a link on some systems).
func inside(dir, path string) (string, bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
		return name, true
	}
	realDir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	realParent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", false
	}
	name, err := filepath.Rel(realDir, filepath.Join(realParent, filepath.Base(path)))
	return name, err == nil && filepath.IsLocal(name)
}

var (
	errNotRegular = errors.New("not a regular file")
	errLink       = errors.New("the folder is a symbolic link or was exchanged")
)

// openHandoffs opens the folder itself, refusing a link in its place.
func openHandoffs(dir string) (*os.Root, error) {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	named, err := parent.Lstat(filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	switch {
	case named.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	case !named.IsDir():
		return nil, syscall.ENOTDIR
	}
	folder, err := parent.OpenRoot(filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	opened, err := folder.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = errLink
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

// openDocument opens the file for reading. The look before keeps us from opening devices,
// which may act on it; O_NONBLOCK keeps a fifo that appears in between from blocking us.
func openDocument(folder *os.Root, name string) (*os.File, error) {
	info, err := folder.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// unchanged reports whether the open file is as it was before and still has its name.
func unchanged(folder *os.Root, name string, f *os.File, before fs.FileInfo) bool {
	after, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := folder.Stat(name)
	if err != nil {
		return false
	}
	return os.SameFile(after, named) && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime())
}

// checkText refuses what is not text, and text that says nothing.
func checkText(path string, b []byte) error {
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return refuse(DocumentNotText, nil, "handoff document %q is not UTF-8 text", path)
	}
	if bytes.IndexFunc(b, visible) < 0 {
		return refuse(DocumentBlank, nil, "handoff document %q holds nothing but white space", path)
	}
	return nil
}

// visible reports whether r is neither white space nor hidden, as byte order marks, joiners and directions are.
func visible(r rune) bool { return !unicode.IsSpace(r) && !words.Hidden(r) }

// lookupError turns an error met on the way to the bytes into a DocumentError.
func lookupError(path string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, errNotRegular):
		return refuse(DocumentNotRegular, err, "handoff document %q is not a regular file", path)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refuse(DocumentMissing, err, "handoff document %q does not exist", path)
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return refuse(DocumentNotRegular, err, "handoff document %q is not a regular file", path)
	case errors.As(err, &errno):
		return refuse(DocumentUnreadable, err, "handoff document %q can't be read: %v", path, errno)
	default:
		// os.Root has no name for its refusal to leave the folder; it is the only error of
		// a lookup, beside our own, that does not come from the system.
		return refuse(DocumentOutside, err, "handoff document %q is a link that leads out of its folder", path)
	}
}

func refuse(code string, cause error, format string, args ...any) error {
	return &DocumentError{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}
