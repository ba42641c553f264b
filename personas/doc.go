// Package personas owns the persona files below one folder: {slug}/skill.md, experience.md
// and handoffs/, and .archive/{slug} for archived ones. It parses them, keeps an immutable
// snapshot, notices changes by anybody, and creates and archives personas. It also serves the
// templates of pipelines ([Templates]): YAML files in a folder of their own, which it parses
// strictly and follows in the same way, but never writes.
//
// A persona is always listed. [Persona.Problem] says what is wrong with its files; until that is
// corrected, it can't be used. Folders whose names are no slugs are ignored.
//
// Concurrency: several goroutines may use a Store, and several processes may create personas in
// one folder: mkdir decides which one gets a slug. No lock is held while files are read or
// written.
//
// Ordering: the snapshot of [Store.List] may be late by the time that it takes to notice a change
// (about 50 ms with inotify; without it until the next scan). [Store.Get] reads the disk and is
// never late.
//
// A crash leaves a persona whole, or, in the middle of [Store.Create], a folder without
// skill.md. That persona is listed with this problem and can be archived. A slug is never reused.
//
// No access leaves the folder: names are checked, and every file is opened below a handle of the
// folder (os.Root). A persona's folder may not be a symbolic link.
package personas
