package realcli

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/understudyd/understudy/cmd/internal/npmtest"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

// CLI is one of the CLIs, by the name of its runtime.
type CLI string

// The CLIs.
const (
	Codex    CLI = "codex"
	OpenCode CLI = "opencode"
	Pi       CLI = "omp"
	Gemini   CLI = "gemini"
)

// All lists the CLIs.
func All() []CLI { return []CLI{Codex, OpenCode, Pi, Gemini} }

// The versions of the CLIs that the tests run: the pinned ones, which are Tested in daemon/runtimes, unless
// [npmtest.Version] says another. The golden screens under daemon/runtimes/testdata come from the pinned versions: after a
// change there, run
//
//	go test -tags e2e ./cmd/internal/realcli -run TestScreens -update
var (
	codexVersion    = version(Codex)
	openCodeVersion = version(OpenCode)
	piVersion       = version(Pi)
	geminiVersion   = version(Gemini)
)

// What some CLIs run on.
const (
	bunVersion  = "1.3.14"
	nodeVersion = "22.23.3" // for Gemini, if the machine's own is older than 20
)

func version(cli CLI) string {
	rt, err := catalog.For(string(cli))
	if err != nil {
		panic(err) // a name in this file is wrong
	}
	return npmtest.Version(string(cli), rt.Can.Tested)
}

var installed = map[CLI]func() ([]string, error){
	Codex:    sync.OnceValues(func() ([]string, error) { return install(codex) }),
	OpenCode: sync.OnceValues(func() ([]string, error) { return install(openCode) }),
	Pi:       sync.OnceValues(func() ([]string, error) { return install(pi) }),
	Gemini:   sync.OnceValues(func() ([]string, error) { return install(gemini) }),
}

// Install returns the argv that runs the pinned CLI; its first word is an absolute path. The first call on a machine
// installs it from the npm registry into the cache of [npmtest.Cache]: 360 MB for Codex, 180 for OpenCode, 500 for
// oh-my-pi, 100 for Gemini. The test fails if the CLI is not cached and cannot be installed.
func Install(t testing.TB, cli CLI) []string {
	t.Helper()
	argv, err := installed[cli]()
	if err != nil {
		t.Fatal(err)
	}
	return argv[:len(argv):len(argv)]
}

// machine is what npm's packages differ in.
type machine struct {
	system, arch string // such as linux and x64
	avx2         bool   // false needs the baseline packages; true if the processor is not an x64
	node         string // a Node.js that is new enough for Gemini; "" if PATH has none
}

func install(recipe func(machine) npmtest.Program) ([]string, error) {
	system, arch, err := npmtest.Platform()
	if err != nil {
		return nil, err
	}
	return npmtest.Install(recipe(machine{system, arch, runtime.GOARCH != "amd64" || cpu.X86.HasAVX2, recentNode()}))
}

// recentNode returns the path of the node in PATH if its version is at least 20.
func recentNode() string {
	node, err := exec.LookPath("node")
	if err != nil {
		return ""
	}
	if node, err = filepath.Abs(node); err != nil {
		return ""
	}
	out, err := exec.Command(node, "--version").Output() // v20.20.2
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, atoiErr := strconv.Atoi(major); err != nil || atoiErr != nil || n < 20 {
		return ""
	}
	return node
}

// codex is the native binary without the wrapper, which is a program of node.
func codex(m machine) npmtest.Program {
	return npmtest.Program{
		Name:     "codex-" + m.system + "-" + m.arch + "-" + codexVersion,
		Packages: []string{"@openai/codex@" + codexVersion + "-" + m.system + "-" + m.arch},
		Keep:     "@openai/codex",
		Remove:   []string{"vendor/*/codex-resources/voice"},
		Command:  func(dir string) ([]string, error) { return one(dir, "vendor/*/bin/codex") },
		Version:  codexVersion,
	}
}

func openCode(m machine) npmtest.Program {
	pkg := "opencode-" + m.system + "-" + m.arch
	if !m.avx2 {
		pkg += "-baseline"
	}
	return npmtest.Program{
		Name:     pkg + "-" + openCodeVersion,
		Packages: []string{pkg + "@" + openCodeVersion},
		Keep:     pkg,
		Command:  func(dir string) ([]string, error) { return one(dir, "bin/opencode") },
		Version:  openCodeVersion,
	}
}

// pi runs on bun. Without --omit=optional npm would install everything for all platforms that its packages name.
func pi(m machine) npmtest.Program {
	arch := m.arch
	if arch == "arm64" {
		arch = "aarch64" // bun's word
	}
	unused := "baseline"
	if !m.avx2 {
		unused = "modern"
	}
	return npmtest.Program{
		Name: "omp-" + m.system + "-" + m.arch + "-" + piVersion,
		Packages: []string{
			"@oh-my-pi/pi-coding-agent@" + piVersion,
			"@oven/bun-" + m.system + "-" + arch + "@" + bunVersion,
			"@oh-my-pi/pi-natives-" + m.system + "-" + m.arch + "@" + piVersion,
		},
		Flags:  []string{"--omit=optional"},
		Remove: []string{"node_modules/@oh-my-pi/pi-natives-*/pi_natives.*-x64-" + unused + ".node", "node_modules/lucide-react"},
		Command: func(dir string) ([]string, error) {
			bun, err := one(dir, "node_modules/@oven/bun-*/bin/bun")
			cli, cliErr := one(dir, "node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js")
			return append(bun, cli...), errors.Join(err, cliErr)
		},
		Version: piVersion,
	}
}

// gemini runs on the Node.js of the machine. Debian 12 has one that is too old: then another one comes from npm as well.
func gemini(m machine) npmtest.Program {
	p := npmtest.Program{
		Name:     "gemini-" + geminiVersion,
		Packages: []string{"@google/gemini-cli@" + geminiVersion},
		Remove:   []string{"node_modules/@google/gemini-cli/bundle/bundled"}, // a server for browsers
		Version:  geminiVersion,
	}
	if m.node == "" {
		p.Name += "-node-" + nodeVersion
		p.Packages = append(p.Packages, "node-"+m.system+"-"+m.arch+"@"+nodeVersion)
		p.Remove = append(p.Remove, "node_modules/node-*/include", "node_modules/node-*/share")
	}
	p.Command = func(dir string) ([]string, error) {
		argv := []string{m.node}
		var err error
		if m.node == "" {
			argv, err = one(dir, "node_modules/node-*/bin/node")
		}
		cli, cliErr := one(dir, "node_modules/@google/gemini-cli/bundle/gemini.js")
		return append(argv, cli...), errors.Join(err, cliErr)
	}
	return p
}

// one returns the only file of a pattern.
func one(dir, pattern string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%s holds %d files %s, not one: %s", dir, len(files), pattern, strings.Join(files, " "))
	}
	return files, err
}
