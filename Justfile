# Each recipe is one command that can be pasted into a shell as well.

# list the recipes
default:
    @just --list

# run the daemon in the foreground, on ./.data
run:
    go build -o bin/understudy ./cmd/understudy && bin/understudy serve --data ./.data

# watch a handoff from start to end, with scripted agents on a throw-away data directory
demo:
    go run ./cmd/understudy demo

# run the tests that need only what the demo installs
test:
    go test ./...

# run all tests: browser, desktop, shells, the real Claude Code CLI, all stories, walks of kills
test-all:
    go test -tags e2e ./...

# do exactly what CI does
check:
    .ci/run

# fuzz each parser of what agents, people and other programs write; what fails is kept in testdata/fuzz of its package
fuzz TIME="1m":
    .ci/fuzz {{TIME}}

# try released versions of the CLIs (all, or claude,codex@0.170.0,…), and write down which pass; some minutes for each
drift NAMES="all" STEPS="8":
    go test -tags e2e ./cmd/internal/stories -run '^TestDrift$' -drift {{NAMES}} -drift-steps {{STEPS}} -timeout 0 -v
    go test ./daemon/runtimes/catalog -run TestTable -update

# measure: a whole handoff, the trigger, a delivery, a hook, an idle daemon, the dashboard in a browser
bench:
    go test -tags e2e -run '^$' -bench . ./cmd/internal/stories

# measure all of docs/performance.md, on a machine that does nothing else
performance:
    mkdir -p bin && go run ./.ci/performance/main.go >bin/performance.md && mv bin/performance.md docs/performance.md

# make the README's pictures anew, among them a film of `top`
shots:
    go test -tags e2e ./cmd/internal/stories -run '^TestShots$' -shots "$PWD/docs" -v

# run the linter
lint:
    go build -C .ci/lint -o ../../bin/lint . && bin/lint -tags e2e ./...

# run the simulation with N seeds on all cores, from seed FIRST on
sim N="10000" FIRST="1":
    go test ./daemon/sim -run TestSeeds -seeds {{N}} -first {{FIRST}} -progress -timeout 0 -v

# open psql on the private database of ./.data, while `just run` is running
db:
    psql -h "$PWD/.data/postgres/sock" -p 5432 -U understudy understudy
