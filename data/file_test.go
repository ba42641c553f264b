package data

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries := value(os.ReadDir(dir))(t)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	return got
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	equal(t, dir+" holds", names(t, dir), want)
}

func wantText(t *testing.T, path, want string) {
	t.Helper()
	equal(t, path+" holds", string(value(os.ReadFile(path))(t)), want)
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, perm := range []fs.FileMode{0o600, 0o666, 0o640} { // the umask must not matter
		want := []byte(perm.String())
		must(t, WriteFile(path, want, perm))
		wantText(t, path, string(want))
		equal(t, "mode is", mode(t, path), perm)
	}
	wantNames(t, dir, "f")
}

func TestWriteFileReplacesLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "f")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	must(t, os.Symlink(victim, path))
	must(t, WriteFile(path, []byte("new"), 0o600))
	wantText(t, victim, "precious")
	if got := mode(t, path); !got.IsRegular() {
		t.Errorf("path is %v, want a regular file", got)
	}
}

func TestWriteFileFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantErr(t, "missing folder", WriteFile(filepath.Join(dir, "none", "f"), nil, 0o600), fs.ErrNotExist)
	taken := filepath.Join(dir, "taken")
	must(t, os.MkdirAll(filepath.Join(taken, "x"), 0o700))
	wantErr(t, "a folder was replaced", WriteFile(taken, nil, 0o600))
	wantNames(t, dir, "taken")
}

// TestWriteFileIsWhole: readers never see half a file while several goroutines write it.
func TestWriteFileIsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	write := func(c byte) {
		if err := WriteFile(path, bytes.Repeat([]byte{c}, 64<<10), 0o600); err != nil {
			t.Error(err)
		}
	}
	write('a')
	var writers sync.WaitGroup
	for c := byte('a'); c < 'e'; c++ {
		writers.Go(func() {
			for range 10 {
				write(c)
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for {
		b, err := os.ReadFile(path)
		if err != nil || len(b) != 64<<10 || bytes.Count(b, b[:1]) != len(b) {
			t.Fatalf("read %d bytes, %v", len(b), err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestWriteSole: a write removes the files that a killed writer has left, and nothing else.
func TestWriteSole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.context.md")
	left := value(writeTemp(path, []byte("half"), 0o600))(t)
	other := value(writeTemp(filepath.Join(dir, "y.md"), []byte("another's"), 0o600))(t)
	must(t, WriteSole(path, []byte("whole"), 0o600))
	wantText(t, path, "whole")
	failed(os.Lstat(left))(t, "what was left is still there", fs.ErrNotExist)
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("another file's is gone: %v", err)
	}
}
