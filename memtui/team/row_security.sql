
-- Row-level security by team. It needs a superuser once: with it Postgres uses no index for a
-- comparison that is not declared leakproof, and would read the whole table for every word.
do $$ begin
    alter function pg_catalog.ts_match_vq(tsvector, tsquery) leakproof;
    alter function pg_catalog.texticlike(text, text) leakproof;
    alter function pg_catalog.texticregexeq(text, text) leakproof;
    alter function pg_catalog.textlike(text, text) leakproof;
    alter function pg_catalog.textcat(text, text) leakproof;
    alter function pg_catalog.enum_eq(anyenum, anyenum) leakproof;
    alter function pg_catalog.enum_ge(anyenum, anyenum) leakproof;
    alter function pg_catalog.enum_le(anyenum, anyenum) leakproof;
exception when insufficient_privilege then
    raise exception 'row-level security needs a superuser to set it up'
        using hint = 'use --one-team, and a database of its own for each team';
end $$;

alter table memtui.memories enable row level security;
alter table memtui.links enable row level security;
alter table memtui.versions enable row level security;

do $$ declare each text; begin
    foreach each in array array['memories', 'versions'] loop
        execute format('drop policy if exists team on memtui.%I', each);
        execute format('create policy team on memtui.%I'
            ' using (team = any ((select memtui.teams())::text[]))', each);
    end loop;
end $$;
drop policy if exists team on memtui.links;
create policy team on memtui.links using (exists (select from memtui.memories m where m.id = links.id));

-- Everyone sees who belongs to which team; an owner changes that of her own teams only.
alter table memtui.members enable row level security;
drop policy if exists seen on memtui.members;
create policy seen on memtui.members for select using (true);
drop policy if exists team on memtui.members;
create policy team on memtui.members using (team = any ((select memtui.teams())::text[]));
