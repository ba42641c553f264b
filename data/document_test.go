package data

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const limit = 1000

func TestHandoffName(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 3, 1, 1, 2, 3, 999, time.FixedZone("", 2*3600))
	for id, want := range map[int64]string{
		7:         "20250228T230203-00000007.md",
		123456789: "20250228T230203-123456789.md",
	} {
		equal(t, "HandoffName(at, id)", HandoffName(at, id), want)
	}
	equal(t, "context path is", ContextPath("/h/x.md"), "/h/x.context.md")
}

func TestReadDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "# Was\n\nwörks\n"
	path := filepath.Join(dir, "x.md")
	write(t, path, text)
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(path, at, at))
	sum := sha256.Sum256([]byte(text))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	elsewhere := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, elsewhere))
	for _, path := range []string{path, dir + "/sub/../x.md", elsewhere + "/x.md"} {
		doc, err := ReadDocument(dir, path, int64(len(text)))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if doc.Path != path || string(doc.Bytes) != text || doc.SHA256 != hex.EncodeToString(sum[:]) || !doc.ModTime.Equal(at) {
			t.Errorf("got %+v", doc)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestReadDocumentRefusesContent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, code string
	}{
		{"empty", "", DocumentEmpty},
		{"newline", "\n", DocumentBlank},
		{"blanks", " \t\r\n\v\f", DocumentBlank},
		{"Unicode spaces", "\u00a0\u2003\u3000\u2028\u0085", DocumentBlank},
		{"byte order mark", "\ufeff", DocumentBlank},
		{"without width", "\u200b\u2060\u200d\n", DocumentBlank},
		{"NUL", "text\x00", DocumentNotText},
		{"UTF-16", "t\x00e\x00", DocumentNotText},
		{"Latin-1", "caf\xe9", DocumentNotText},
		{"cut rune", "x\xe2\x82", DocumentNotText},
		{"just too large", strings.Repeat("x", limit+1), DocumentTooLarge},
		{"just fits", strings.Repeat("x", limit), ""},
		{"one letter", "x", ""},
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.md")
	for _, test := range tests {
		write(t, path, test.text)
		_, err := ReadDocument(dir, path, limit)
		wantCode(t, test.name, err, test.code, path)
	}
	write(t, path, strings.Repeat("x", limit+1))
	_, err := ReadDocument(dir, path, limit)
	wantErr(t, "a large document", err, strconv.Itoa(limit), strconv.Itoa(limit+1))
}

// wantCode checks an error of ReadDocument; no code means no error.
func wantCode(t *testing.T, name string, err error, code, path string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	var docErr *DocumentError
	if !errors.As(err, &docErr) {
		t.Errorf("%s: error %v, want %s", name, err, code)
		return
	}
	if docErr.Code != code || !strings.Contains(docErr.Message, path) || strings.Contains(docErr.Message, "\n") {
		t.Errorf("%s: %s: %s; want %s and a sentence with the path", name, docErr.Code, docErr.Message, code)
	}
}

func TestReadDocumentRefusesFiles(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	secret := filepath.Join(base, "secret.md")
	write(t, secret, "secret")
	toSecret := func(_, path string) error { return os.Symlink(secret, path) }
	tests := []struct {
		name string
		make func(dir, path string) error // path is dir/x.md
		path string                       // relative to dir, x.md if empty
		code string
	}{
		{name: "missing", code: DocumentMissing},
		{name: "dangling link", make: func(_, path string) error { return os.Symlink("nothing", path) }, code: DocumentMissing},
		{name: "below a file", make: func(_, path string) error { return os.WriteFile(path, []byte("x"), 0o600) }, path: "x.md/y.md", code: DocumentMissing},
		{name: "folder", make: func(_, path string) error { return os.Mkdir(path, 0o700) }, code: DocumentNotRegular},
		{name: "the folder itself", path: ".", code: DocumentNotRegular},
		{name: "fifo", make: func(_, path string) error { return syscall.Mkfifo(path, 0o600) }, code: DocumentNotRegular},
		{name: "link to a fifo", make: func(dir, path string) error {
			return errors.Join(syscall.Mkfifo(dir+"/fifo", 0o600), os.Symlink("fifo", path))
		}, code: DocumentNotRegular},
		{name: "link to a document", make: func(dir, path string) error {
			return errors.Join(os.WriteFile(dir+"/y.md", []byte("text"), 0o600), os.Symlink("y.md", path))
		}, code: DocumentNotRegular},
		{name: "hard link", make: func(_, path string) error { return os.Link(secret, path) }, code: DocumentNotRegular},
		{name: "link in a circle", make: func(_, path string) error { return os.Symlink("x.md", path) }, code: DocumentNotRegular},
		{name: "link to a device", make: func(_, path string) error { return os.Symlink("/dev/zero", path) }, code: DocumentOutside},
		{name: "link out", make: toSecret, code: DocumentOutside},
		{name: "relative link out", make: func(_, path string) error { return os.Symlink("../../secret.md", path) }, code: DocumentOutside},
		{name: "dangling link out", make: func(_, path string) error { return os.Symlink("/nowhere/x", path) }, code: DocumentOutside},
		{name: "link to a link out", make: func(dir, path string) error {
			return errors.Join(toSecret(dir, dir+"/y.md"), os.Symlink("y.md", path))
		}, code: DocumentOutside},
		{name: "folder that leads out", make: func(dir, _ string) error { return os.Symlink(base, dir+"/sub") }, path: "sub/secret.md", code: DocumentOutside},
		{name: "dots", path: "../../secret.md", code: DocumentOutside},
		{name: "dots and back", make: func(dir, path string) error { return os.WriteFile(path, []byte("x"), 0o600) }, path: "../handoffs/x.md", code: ""},
		{name: "handoffs leads out", make: func(dir, _ string) error {
			return errors.Join(os.Remove(dir), os.Symlink(base, dir))
		}, path: "secret.md", code: DocumentOutside},
		{name: "handoffs is a file", make: func(dir, _ string) error {
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}, code: DocumentMissing},
		{name: "no handoffs", make: func(dir, _ string) error { return os.Remove(dir) }, code: DocumentMissing},
	}
	for i, test := range tests {
		dir := filepath.Join(base, strconv.Itoa(i), "handoffs")
		must(t, os.MkdirAll(dir, 0o700))
		path := dir + "/x.md"
		if test.make != nil {
			must(t, test.make(dir, path))
		}
		if test.path != "" {
			path = dir + "/" + test.path
		}
		doc, err := ReadDocument(dir, path, limit)
		wantCode(t, test.name, err, test.code, path)
		if strings.Contains(string(doc.Bytes), "secret") {
			t.Errorf("%s: what is outside was read", test.name)
		}
	}
	_, err := ReadDocument(base, "secret.md", limit)
	wantCode(t, "relative path", err, DocumentOutside, "secret.md")
	_, err = ReadDocument(base, secret+"/../../etc/passwd", limit)
	wantCode(t, "path that climbs", err, DocumentOutside, base)
}

func TestReadDocumentRefusesSocket(t *testing.T) {
	t.Parallel()
	dir := value(os.MkdirTemp("", "us"))(t) // the name of a socket must be short
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "x.md")
	l := value(net.Listen("unix", path))(t)
	defer l.Close()
	_, err := ReadDocument(dir, path, limit)
	wantCode(t, "socket", err, DocumentNotRegular, path)
}

func TestReadDocumentUnstable(t *testing.T) {
	t.Parallel()
	changes := map[string]func(path string) error{
		"grows": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close())
		},
		"shrinks": func(path string) error { return os.Truncate(path, 2) },
		"is touched": func(path string) error {
			at := time.Unix(1, 0)
			return os.Chtimes(path, at, at)
		},
		"is replaced": func(path string) error { return WriteFile(path, []byte("text"), 0o600) },
		"goes":        os.Remove,
		"stays":       func(string) error { return nil },
	}
	for name, change := range changes {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.md")
		write(t, path, "text")
		_, err := readDocument(dir, path, limit, func() {
			must(t, change(path))
		})
		code := DocumentUnstable
		if name == "stays" {
			code = ""
		}
		wantCode(t, name, err, code, path)
	}
}
