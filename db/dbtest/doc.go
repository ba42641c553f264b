// Package dbtest gives each test a PostgreSQL database of its own.
//
// Databases are copied from a template that is migrated once per process, on
// the server of UNDERSTUDY_TEST_DATABASE_URL, or without that on one cluster
// per test process that is made at the first use, in memory where there is
// room, and that is gone when the process ends, however it ends.
//
// Every function may be called by parallel tests. Without PostgreSQL a test
// fails with the sentence that says what to run.
package dbtest
