package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

// ours are the packages of this module that the program may be linked with.
var ours = []string{"hooks", "cmd/internal/inside", "cmd/internal/child", "cmd/understudy-hook", "daemon/words", "data/trust"}

// never are packages that make a process start slowly: by what they do before main begins, by the
// tables that they bring, or, as net does, by the C library.
var never = regexp.MustCompile(`^(net|regexp|crypto|text|html|log|os/user|runtime/cgo|math/big|compress|debug|go|testing|flag)(/|$)`)

// TestDependencies holds what the program is linked with.
func TestDependencies(t *testing.T) {
	t.Parallel()
	list, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Standard}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, list)
	}
	for line := range strings.Lines(string(list)) {
		name, standard, _ := strings.Cut(strings.TrimSpace(line), " ")
		own, isOurs := strings.CutPrefix(name, "github.com/understudyd/understudy/")
		switch {
		case isOurs && !slices.Contains(ours, own), !isOurs && standard != "true", never.MatchString(name):
			t.Errorf("the program is linked with %s, for which agents would wait at every turn", name)
		}
	}
}

// TestStartsLean holds the program's size, and what its packages do before main begins, counted in
// allocations, which are the same each time.
func TestStartsLean(t *testing.T) {
	t.Parallel()
	bin := childtest.NewPrograms(".").Path(t, "understudy-hook")
	info := wardentest.Value(os.Stat(bin))(t)
	const largest = 2_800_000 // without what debuggers want
	if info.Size() > largest {
		t.Errorf("the program has %d bytes, want at most %d", info.Size(), largest)
	}
	if runtime.GOOS == "linux" && needsLoader(t, bin) {
		t.Error("the program needs the dynamic loader: it is linked with the C library")
	}
	cmd := exec.Command(bin, "hook", "stop")
	cmd.Stdin = strings.NewReader("{}")
	cmd.Env = []string{"UNDERSTUDY_DATA=" + t.TempDir()}
	childtest.WantLean(t, cmd, 60)
}

// needsLoader reports whether a program names an interpreter, as each does that is linked dynamically.
func needsLoader(t *testing.T, bin string) bool {
	t.Helper()
	f := wardentest.Value(elf.Open(bin))(t)
	defer func() { _ = f.Close() }() // it was read
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// TestUnknownCommand: whoever runs the program by hand is told what it is.
func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "run", ".", "help").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "understudy-hook hook|statusline|launch") {
		t.Errorf("%v: %s", err, out)
	}
}
