// Package personas owns the persona files below one folder: {slug}/skill.md, experience.md
// and handoffs/, and .archive/{slug} for the ones that were put away. It parses them, keeps
// an immutable snapshot, follows changes made by anybody, and makes and archives personas.
//
// A persona is always listed. What is wrong with its files stands in [Persona.Problem], and
// it can't be used until that is mended. Folders whose names are no slugs are not ours and
// are passed over.
//
// Ordering: the snapshot of [Store.List] may be late by the time it takes to notice a change
// (about 50 ms with inotify; the next scan without). [Store.Get] reads the disk and is never
// late.
//
// Concurrency: a Store may be used by several goroutines, and several processes may make
// personas in one folder: mkdir decides who gets a slug. No lock is held while files are read
// or written.
//
// Nothing leads out of the folder: names are checked, and every file is opened below a handle
// of it (os.Root). A persona's folder may not be a symbolic link.
//
// Beside them it serves the templates of pipelines ([Templates]): flat YAML files in a folder of
// their own, parsed strictly and followed in the same way. It makes and changes none.
//
// A crash leaves a persona whole, or, in the middle of [Store.Create], a folder without
// skill.md that is listed with that problem and can be archived; its slug is never reused.
package personas
