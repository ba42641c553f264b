// Package dbtest gives each test a PostgreSQL database of its own.
//
// It copies databases from a template that it migrates once per process. The
// databases are on the server of UNDERSTUDY_TEST_DATABASE_URL. Without that
// variable, each test process has one cluster of its own: it is made at the
// first use, in memory where there is room.
//
// Parallel tests may call every function. Without PostgreSQL a test fails with
// a sentence that says what to run.
//
// A process's own cluster is gone when the process has ended, however it ended.
package dbtest
