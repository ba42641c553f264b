// Command darwin checks that the packages compile on macOS: it reads their source and that of all that they import for that system, as a
// compiler would, and makes no code. It is run from the root of the tree:
//
//	go build -C .ci/lint -o ../../bin/darwin ./darwin && bin/darwin
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedCompiledGoFiles | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS=darwin"),
	}, "./...")
	if err != nil {
		fmt.Fprintln(os.Stderr, "darwin:", err)
		os.Exit(2)
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
	fmt.Println(len(loaded), "packages")
}
