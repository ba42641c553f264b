package doctor

import (
	"errors"
	"slices"
	"testing"
)

func TestInstallation(t *testing.T) {
	t.Parallel()
	tmux, postgres := Finding{Name: "tmux", pack: "tmux"}, Finding{Name: "PostgreSQL", pack: "postgresql"}
	for name, tt := range map[string]struct {
		missing   []Finding
		programs  []string
		euid      int
		want, err string
	}{
		"apt as root": {
			missing: []Finding{tmux, postgres}, programs: []string{"apt-get", "sudo"},
			want: "`apt-get update && env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends tmux postgresql`",
		},
		"apt as a user": {
			missing: []Finding{tmux}, programs: []string{"apt-get", "sudo"}, euid: 1000,
			want: "`sudo apt-get update && sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends tmux`",
		},
		"apt as a user without sudo": {
			missing: []Finding{tmux}, programs: []string{"apt-get"}, euid: 1000,
			err: "installing needs root: run as root `apt-get update && env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends tmux`",
		},
		"dnf": {
			missing: []Finding{postgres}, programs: []string{"dnf"},
			want: "`dnf install -y postgresql-server`",
		},
		"brew never as root": {
			missing: []Finding{tmux, postgres}, programs: []string{"brew", "sudo"}, euid: 501,
			want: "`brew install tmux postgresql@17`",
		},
		"none": {
			missing: []Finding{tmux, postgres},
			err:     "no apt-get, dnf or brew was found: install tmux and PostgreSQL by hand (tmux 3.2 or newer, PostgreSQL 14 or newer)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			look := func(program string) (string, error) {
				if slices.Contains(tt.programs, program) {
					return "/bin/" + program, nil
				}
				return "", errors.New("not found")
			}
			commands, _, err := installation(tt.missing, look, tt.euid)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error %v, want %s", err, tt.err)
				}
				return
			}
			if got := inShell(commands); err != nil || got != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}
