package targets

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/data/trust"
)

// maxSecret is the size limit of a file with a secret.
const maxSecret = 16 << 10

// ReadSecret returns the text of a file with a secret, without the white space around it. It refuses a file that other
// users can read or that belongs to another user, and says how to mend it. No error contains the secret.
func ReadSecret(path string) (string, error) {
	// Without O_NONBLOCK a named pipe would block the open.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not there: write the secret into it, with mode 0600", path)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	about, err := f.Stat() // of the open file: the path may be replaced meanwhile
	if err != nil {
		return "", err
	}
	owner, known := about.Sys().(*syscall.Stat_t)
	switch {
	case !about.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", path)
	case about.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s can be used by other users (mode %04o): chmod 600 %s", path, about.Mode().Perm(), proc.ShellQuote(path))
	case known && int(owner.Uid) != os.Geteuid() && owner.Uid != 0:
		return "", fmt.Errorf("%s belongs to another user: copy it, so that it is yours", path)
	}
	if err := trust.Check(path); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	text := strings.TrimSpace(string(b))
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", fmt.Errorf("%s is empty: write the secret into it", path)
	case len(b) > maxSecret || strings.ContainsAny(text, "\r\n\x00"):
		return "", fmt.Errorf("%s must have one line", path)
	}
	return text, nil
}
