"""A team's memory in its own Postgres: asked with queries, never read whole.

`compiler` turns a query into SQL, `words` makes texts searchable, `schema.sql` is what `memtui team
init` runs, `planning` and `writing` change rows, `store` puts them together. Only this package
imports psycopg.
"""
