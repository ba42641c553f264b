DO $$
DECLARE
	command text;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'understudy_daemon') THEN
		CREATE ROLE understudy_daemon LOGIN;
	END IF;
	FOR command IN
		SELECT format('DATABASE %I', datname) FROM pg_database
		WHERE datname = current_database() AND datdba = 'understudy'::regrole
	UNION ALL
		SELECT format('SCHEMA %I', nspname) FROM pg_namespace
		WHERE nspowner = 'understudy'::regrole AND nspname <> 'information_schema' AND NOT starts_with(nspname, 'pg_')
	UNION ALL
		SELECT format('%s %s', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass)
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
		WHERE relowner = 'understudy'::regrole AND relkind IN ('r', 'p', 'v', 'm', 'S')
			AND nspname <> 'information_schema' AND NOT starts_with(nspname, 'pg_')
			-- The sequence of a column has the owner of its table.
			AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype IN ('a', 'i', 'e'))
	UNION ALL
		SELECT format('ROUTINE %s', p.oid::regprocedure)
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace
		WHERE proowner = 'understudy'::regrole AND nspname <> 'information_schema' AND NOT starts_with(nspname, 'pg_')
	UNION ALL
		SELECT format('TYPE %s', t.oid::regtype)
		FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = typnamespace
		WHERE typowner = 'understudy'::regrole AND typtype IN ('d', 'e') AND nspname <> 'information_schema' AND NOT starts_with(nspname, 'pg_')
	LOOP
		EXECUTE 'ALTER ' || command || ' OWNER TO understudy_daemon';
	END LOOP;
END $$
