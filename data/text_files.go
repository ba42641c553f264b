package data

import (
	"path"
	"strings"
	"unicode"
)

// maxPath is the length of the longest path in bytes. filePath takes no longer word for a path.
const maxPath = 1024

// set returns the words of a text as a set.
func set(text string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(text) {
		m[word] = true
	}
	return m
}

var (
	// extensions are the extensions that make a word such as main.go the name of a file. Extensions that code uses
	// behind a dot as well (console.log, process.env, mutex.lock) are not among them.
	extensions = set(`go c h cc cpp cxx hh hpp rs py pyi ipynb js mjs cjs jsx ts mts cts tsx vue svelte java kt kts
		scala swift rb php pl lua ex exs erl hs ml cs vb dart zig nim jl sh bash zsh fish ps1 bat sql md mdx markdown
		rst txt adoc tex html htm css scss sass xml svg json jsonc json5 jsonl ndjson yaml yml toml ini cfg conf csv
		tsv proto graphql gql tf tfvars hcl nix cmake gradle tmpl tpl j2 hbs ejs pdf png jpg jpeg gif webp ico txtar`)
	// belowFolder are the extensions that make a word the name of a file only if the word comes behind a slash.
	belowFolder = set(`log env lock mod sum work m mm r s d fs properties service socket timer less diff patch snap
		golden db sqlite key pem crt cert out bin so a o exe dll wasm zip gz tgz tar mk in org el vim http rest map
		plist gitignore gitkeep keep example sample bak tmp orig old dat data`)
	// fileNames are whole names of files.
	fileNames = set(`Makefile GNUmakefile Dockerfile Containerfile Justfile Jenkinsfile Procfile Gemfile Rakefile
		Vagrantfile Brewfile Caddyfile CODEOWNERS go.mod go.sum go.work Cargo.lock yarn.lock poetry.lock uv.lock
		Gemfile.lock flake.lock composer.lock .env .env.example .envrc .gitignore .gitattributes .gitmodules
		.dockerignore .editorconfig .npmrc .nvmrc .eslintrc .prettierrc .babelrc .coveragerc .tool-versions`)
	// sureNames are words that are names of files only in backticks or behind a slash. Elsewhere they are ordinary words.
	sureNames = set("makefile justfile dockerfile LICENSE LICENCE NOTICE README CHANGELOG")
	// notFiles are names of products that look like names of files.
	notFiles = set(`node.js next.js nuxt.js vue.js react.js three.js d3.js express.js ember.js backbone.js chart.js
		alpine.js discord.js moment.js day.js p5.js asp.net docs.rs bun.sh brew.sh`)
	// domains are the last labels of host names.
	domains = set("com org net io dev ai co edu gov uk de eu us ca fr me info in")
)

// filePath returns the path of the file that a word names, without a line number behind it. It returns "" if the word
// is something else: a URL, an address, a version, a symbol of a package, a glob, a placeholder. sure is true if the
// word is in backticks or the target of a link, because file names usually are.
func filePath(word string, sure bool) string {
	// The text behind : or # may be a line number, a heading in the file, or the rest of a URL.
	if i := strings.IndexAny(word, ":#"); i >= 0 {
		if strings.HasPrefix(word[i:], "://") {
			return ""
		}
		word = word[:i]
	}
	explicit := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~/")
	for strings.HasPrefix(word, "./") {
		word = strings.TrimLeft(word[2:], "/")
	}
	folder, name := path.Split(word)
	switch {
	case name == "" || len(word) > maxPath || word[0] == '-',
		strings.ContainsAny(word, "*?{}$<>|=\\\"'()&;%!^,`") || strings.Contains(word, "..."),
		!sure && strings.ContainsAny(word, "[]"),
		strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return ""
	}
	if folder != "" && !isFolder(folder) || strings.LastIndexByte(name, '@') > 0 || !isFileName(name, folder != "" || explicit, sure, explicit) {
		return ""
	}
	return word
}

// isFolder reports whether a word ending with a slash is the folder of a path. If not, the word is a host, a module with a
// version, or a file that a slash joins to another file, as in a.go/b.go.
func isFolder(folder string) bool {
	for i, name := range strings.Split(strings.TrimSuffix(folder, "/"), "/") {
		ext := strings.TrimPrefix(path.Ext(name), ".")
		switch {
		case strings.LastIndexByte(name, '@') > 0,
			len(ext)+1 < len(name) && extensions[ext],
			i == 0 && len(ext)+1 < len(name) && domains[ext]:
			return false
		}
	}
	return true
}

// isFileName reports whether a name is the name of a file. below is true if the name comes behind a slash. sure is true as
// for filePath. explicit is true if its path begins with ./, ../, / or ~/.
func isFileName(name string, below, sure, explicit bool) bool {
	if fileNames[name] || (sure || below) && sureNames[name] {
		return true
	}
	ext := strings.TrimPrefix(path.Ext(name), ".")
	stem := strings.TrimSuffix(name, "."+ext)
	if !isExtension(ext) || !strings.ContainsFunc(stem, alphanumeric) || !below && notFiles[strings.ToLower(name)] {
		return false
	}
	lower := strings.ToLower(ext)
	if ext != lower {
		// README.MD is a file, but template.HTML and fmt.Println are symbols.
		if ext != strings.ToUpper(ext) || stem != strings.ToUpper(stem) && !(below && len(ext) == 1) {
			return false
		}
	}
	if len(stem) == 1 && len(ext) == 1 && !below && !sure {
		return false // an abbreviation
	}
	return extensions[lower] || below && belowFolder[lower] || explicit && ext == lower
}

// isExtension reports whether s is a letter and up to 7 letters or digits.
func isExtension(s string) bool {
	if s == "" || len(s) > 8 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !alphanumeric(r) })
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
