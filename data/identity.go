package data

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

var (
	hostIDs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`) })
	tokens  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_-]{64}$`) })
)

// HostID returns the id of this host: at most 64 characters of a-z, 0-9 and -. The first call makes the id from the
// machine's name and a random suffix. The id stays the same if the machine is renamed.
func (d Dir) HostID() (string, error) {
	id, _, err := d.keep(d.HostIDFile(), func() string {
		name, _ := os.Hostname() // without a name the id is only the suffix
		return hostLabel(name) + "-" + randomHex(4)
	})
	if err != nil {
		return "", fmt.Errorf("host id: %w", err)
	}
	if !hostIDs().MatchString(id) {
		return "", fmt.Errorf("host id: %s does not hold one: write an id of a-z, 0-9 and inner hyphens into it, or remove it for a new one", d.HostIDFile())
	}
	return id, nil
}

// Identity returns a text that distinguishes this directory from its copies. The text is random characters, which the
// first call makes and stores in a file, and the inode of that file. In a copy of the directory the inode differs. A
// backup does not contain that file.
func (d Dir) Identity() (string, error) {
	id, info, err := d.keep(d.run("identity"), func() string { return randomHex(16) })
	if err != nil {
		return "", fmt.Errorf("identity of the data directory: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id = fmt.Sprintf("%s-%d", id, stat.Ino)
	}
	return id, nil
}

// TokenValue returns the token of the API, 64 characters that the first call makes. It refuses a token file that another
// user can read or write, or owns.
func (d Dir) TokenValue() (string, error) {
	token, info, err := d.keep(d.Token(), func() string { return randomHex(32) })
	if err != nil {
		return "", fmt.Errorf("API token: %w", err)
	}
	switch {
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("API token: others have access to %s (mode %04o), so it is no secret: remove it for a new one", d.Token(), info.Mode().Perm())
	case owner(info) != os.Geteuid():
		return "", fmt.Errorf("API token: %s belongs to user %d: remove it for a new one", d.Token(), owner(info))
	case !tokens().MatchString(token):
		return "", fmt.Errorf("API token: %s does not hold 64 characters of ours: remove it for a new one", d.Token())
	}
	return token, nil
}

// keep returns the content of the file at path. If there is no file, keep makes the file with the text that fresh
// returns. If several processes do that at once, one of them makes the file and all return the text in it.
func (d Dir) keep(path string, fresh func() string) (string, fs.FileInfo, error) {
	b, info, err := readSmall(path, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		err = createFile(path, []byte(fresh()), 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
		b, info, err = readSmall(path, 4096)
	}
	return strings.TrimSpace(string(b)), info, err
}

// hostLabel returns the first label of a host name, reduced to the characters that an id may have.
func hostLabel(hostname string) string {
	label, _, _ := strings.Cut(strings.ToLower(hostname), ".")
	label = strings.Trim(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, label), "-")
	if len(label) > 40 {
		label = strings.TrimRight(label[:40], "-")
	}
	if label == "" {
		return "host"
	}
	return label
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never returns an error: it ends the program instead
	return hex.EncodeToString(b)
}
