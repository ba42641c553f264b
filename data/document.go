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

// The codes of a [DocumentError].
const (
	DocumentMissing    = "document_missing"
	DocumentEmpty      = "document_empty"       // no bytes at all
	DocumentBlank      = "document_blank"       // white space only
	DocumentNotRegular = "document_not_regular" // a directory, a fifo, a device
	DocumentOutside    = "document_outside"     // not in the persona's handoffs/
	DocumentTooLarge   = "document_too_large"
	DocumentUnstable   = "document_unstable"   // the file changed while it was read
	DocumentNotText    = "document_not_text"   // NUL bytes or invalid UTF-8
	DocumentUnreadable = "document_unreadable" // the system refused to read it
)

// DocumentError says why a handoff document is refused: with a Code for programs, and a Message for the operator, which
// has the path.
type DocumentError struct {
	Code    string
	Message string
	cause   error
}

func (e *DocumentError) Error() string { return e.Message }

// Unwrap returns the system's error, or nil.
func (e *DocumentError) Unwrap() error { return e.cause }

// Document is a whole handoff document. Its file did not change while ReadDocument read it.
type Document struct {
	Path    string
	Bytes   []byte
	SHA256  string // of Bytes, in hexadecimal
	ModTime time.Time
}

// HandoffName returns the file name of the handoff document that the daemon requests from the agent at the time at.
func HandoffName(at time.Time, agentID int64) string {
	return fmt.Sprintf("%s-%08d.md", at.UTC().Format("20060102T150405"), agentID)
}

// ContextPath returns the path of the context file beside a document.
func ContextPath(document string) string {
	return strings.TrimSuffix(document, ".md") + ".context.md"
}

// ReadDocument reads the handoff document at path, which must be inside handoffsDir and have at most max bytes. Every
// error is a [DocumentError]. ReadDocument checks the same file that it reads: it opens the file once, below an open
// handle of the folder, and looks up no name twice. It takes no link for a document. It never blocks on a fifo.
func ReadDocument(handoffsDir, path string, max int64) (Document, error) {
	return readDocument(handoffsDir, path, max, func() {})
}

// readDocument does the work of ReadDocument. It calls between after it has read the file and before it checks whether
// the file has changed; tests use this to change the file.
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

// inside returns path relative to dir, and whether path is inside dir. If the paths as written do not show that, inside
// resolves the links in dir and in the folder of path (/tmp is a link on some systems).
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

// openHandoffs opens the folder, and refuses a link in its place.
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

// openDocument opens the file for reading. It calls Stat first, so that it opens no device, because to open a device may
// have an effect. If a fifo takes the file's place after the Stat, O_NONBLOCK keeps the open from blocking. A link is no document, and
// neither is a file that has another name as well (a hard link): who writes there decides what the successor is told.
func openDocument(folder *os.Root, name string) (*os.File, error) {
	info, err := folder.Stat(name)
	if err != nil {
		return nil, err
	}
	named, err := folder.Lstat(name)
	if err != nil {
		return nil, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !os.SameFile(info, named) || ok && stat.Nlink > 1 {
		return nil, errNotRegular
	}
	return folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// unchanged reports whether the open file f has the size and time of before, and whether name still leads to f.
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

// checkText refuses bytes that are not text, and text without a visible character.
func checkText(path string, b []byte) error {
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return refuse(DocumentNotText, nil, "handoff document %q is not UTF-8 text", path)
	}
	if bytes.IndexFunc(b, visible) < 0 {
		return refuse(DocumentBlank, nil, "handoff document %q holds nothing but white space", path)
	}
	return nil
}

// visible reports whether r is neither white space nor hidden. Byte order marks, joiners and directions are hidden.
func visible(r rune) bool { return !unicode.IsSpace(r) && !words.Hidden(r) }

// lookupError turns an error of opening or reading the file into a DocumentError.
func lookupError(path string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, errNotRegular), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return refuse(DocumentNotRegular, err, "handoff document %q is not a regular file, or is a link", path)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refuse(DocumentMissing, err, "handoff document %q does not exist", path)
	case errors.As(err, &errno):
		return refuse(DocumentUnreadable, err, "handoff document %q can't be read: %v", path, errno)
	default:
		// This is os.Root's refusal to leave the folder, for which it exports no error. All other errors are our
		// own or come from the system, and the cases above have handled them.
		return refuse(DocumentOutside, err, "handoff document %q is a link that leads out of its folder", path)
	}
}

func refuse(code string, cause error, format string, args ...any) error {
	return &DocumentError{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}
