package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettingsWithASecretThatOthersMayReadAreRefused: the folder of the file may keep them out today.
func TestSettingsWithASecretThatOthersMayReadAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	for text, key := range map[string]string{
		"listen: none\n": "", "database_url: postgres://u@db/x\n": "", "database_url: postgres://u:p@db/x\n": "database_url",
		"database_url: host=db password=p\n":                                                  "database_url",
		"notify: {targets: {phone: {type: ntfy, url: https://ntfy.sh/topic}}}\n":              "notify.targets.phone.url",
		"notify: {targets: {phone: {type: webhook, url_file: secrets/a, levels: [error]}}}\n": "",
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		for _, mode := range []os.FileMode{0o600, 0o644} {
			must(t, os.Chmod(path, mode))
			_, err := LoadSettings(path, true, func(string) string { return "" })
			refused := err != nil && strings.Contains(err.Error(), key+" is a secret (") && strings.HasSuffix(err.Error(), "run chmod go-r "+path)
			if want := key != "" && mode == 0o644; refused != want {
				t.Errorf("%q with mode %04o: %v", text, mode, err)
			}
		}
	}
}

// TestSettingsThatOthersMayWriteAreRefused: config.yaml names programs. What others may write, or replace in a folder above, is not
// obeyed, at the start and at each reload alike; the error names the command that mends it.
func TestSettingsThatOthersMayWriteAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "conf")
	must(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "config.yaml")
	must(t, os.WriteFile(path, []byte("listen: none\n"), 0o600))
	link := filepath.Join(dir, "link.yaml")
	must(t, os.Symlink(path, link))
	for _, c := range []struct {
		file, folder os.FileMode
		want         string
	}{
		{0o600, 0o700, ""}, {0o644, 0o755, ""}, {0o666, 0o700, "run chmod go-w " + path}, {0o602, 0o700, "run chmod go-w " + path}, {0o600, 0o777, "run chmod go-w " + folder},
	} {
		must(t, os.Chmod(path, c.file))
		must(t, os.Chmod(folder, c.folder))
		for _, name := range []string{path, link, filepath.Join(folder, "none", "..", "config.yaml")} {
			s, err := LoadSettings(name, true, func(string) string { return "" })
			if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) || err == nil && s.Listen != "none" {
				t.Errorf("%s with mode %04o in a folder with mode %04o: %v, want %q", name, c.file, c.folder, err, c.want)
			}
		}
	}
}
