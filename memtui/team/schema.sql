-- The schema of a team's memory, for PostgreSQL 14 or later. It may be run again.

create extension if not exists pg_trgm;

do $$ begin
    create role memtui_reader nologin;
    create role memtui_writer nologin in role memtui_reader;
    create role memtui_owner nologin in role memtui_writer;
exception when duplicate_object then null;
end $$;

create schema if not exists memtui;
grant usage on schema memtui to memtui_reader;

create table if not exists memtui.schema_version (version integer primary key);
insert into memtui.schema_version select 1 where not exists (select from memtui.schema_version);

do $$ begin
    create type memtui.importance as enum ('high', 'medium', 'low');
exception when duplicate_object then null;
end $$;

-- Who belongs to which team. A person sees and writes the rows of her teams only.
create table if not exists memtui.members (
    team text not null,
    member name not null,
    primary key (member, team)
);

create or replace function memtui.teams() returns text[] language sql stable security definer
    set search_path = pg_catalog
    as $$ select coalesce(array_agg(team order by team), '{}') from memtui.members
          where member = session_user $$;

create table if not exists memtui.memories (
    id text collate "C" primary key default gen_random_uuid()::text,
    team text not null default coalesce((memtui.teams())[1], 'team'),
    kind text not null default 'note'
        check (kind in ('fact', 'event', 'episode', 'schema', 'observation', 'document', 'note')),
    type text not null default '',
    title text not null default '',
    content text not null,
    entity text not null default '',
    importance memtui.importance not null default 'medium',
    status text not null default 'active'
        check (status in ('active', 'proposed', 'superseded', 'retired', 'deleted')),
    pinned boolean not null default false,
    confidence double precision,
    tags text[] not null default '{}',
    supersedes text[] not null default '{}',
    superseded_by text[] not null default '{}',
    source text not null default '',
    author text not null default session_user,
    extra jsonb not null default '{}',
    created timestamptz not null default now(),
    updated timestamptz not null default now(),
    -- The rest is kept by the trigger, `words` by whoever writes or else by the trigger.
    version bigint not null default 1,
    changed xid8 not null default pg_current_xact_id(),
    words tsvector
);

create table if not exists memtui.links (
    id text collate "C" not null references memtui.memories on delete cascade,
    relation text not null,
    target text collate "C" not null,
    valid_from timestamptz,
    valid_to timestamptz,
    note text not null default '',
    primary key (id, relation, target)
);

-- What memories were before each change; only the trigger writes here.
create table if not exists memtui.versions (
    number bigint generated always as identity primary key,
    id text collate "C" not null,
    team text not null,
    act text not null,
    version bigint not null,
    former jsonb not null,
    who text not null default session_user,
    at timestamptz not null default clock_timestamp(),
    changed xid8 not null default pg_current_xact_id()
);

create or replace function memtui.before_change() returns trigger language plpgsql
    security definer set search_path = pg_catalog as $$
declare
    path text[];
    said text;
    agent text := left(nullif(current_setting('memtui.agent', true), ''), 100);
    who text := session_user || coalesce(' with ' || agent, '');
begin
    if tg_op = 'INSERT' then
        if new.author = session_user then
            new.author := who;
        end if;
    else
        insert into memtui.versions (id, team, act, who, version, former)
            select old.id, old.team, lower(tg_op), who, old.version,
                to_jsonb(old) - 'words' - 'changed' || jsonb_build_object('links', coalesce(
                    (select jsonb_agg(to_jsonb(l) - 'id') from memtui.links l where l.id = old.id),
                    '[]'));
        if tg_op = 'DELETE' then
            return old;
        end if;
    end if;
    new.changed := pg_current_xact_id();
    new.version := case tg_op when 'INSERT' then 1 else old.version + 1 end;
    if new.words is null or (tg_op = 'UPDATE' and new.words = old.words and
        (new.title, new.content, new.entity, new.type, new.kind, new.tags, new.source)
        is distinct from
        (old.title, old.content, old.entity, old.type, old.kind, old.tags, old.source))
    then -- another program wrote it: its words are split as Postgres does
        path := string_to_array(lower(new.entity), '/');
        said := left(concat_ws(E'\n', new.title, new.content, array_to_string(new.tags, E'\n'),
            new.entity, new.type, new.source), 100000);
        said := regexp_replace(said, '[^[:alnum:]]+', ' ', 'g');
        new.words := to_tsvector('simple', said)
            || array_to_tsvector(array(
                select '=' || stem from unnest(tsvector_to_array(to_tsvector('english', said))) stem
                union select ':' || lower(coalesce(nullif(new.type, ''), new.kind))
                union select ':' where new.type = ''
                union select '#' || lower(tag) from unnest(new.tags) tag
                union select '/' || part from unnest(path) part
                union select '/' || array_to_string(path[:depth], '/')
                    from generate_series(1, cardinality(path)) depth));
    end if;
    return new;
end $$;

create or replace function memtui.before_link() returns trigger language plpgsql
    security definer set search_path = pg_catalog as $$
begin -- a link is part of the memory that it leads from
    update memtui.memories set version = version where id = coalesce(new.id, old.id);
    return coalesce(new, old);
end $$;

create or replace function memtui.tell() returns trigger language plpgsql as $$
begin
    perform pg_notify('memtui', '');
    return null;
end $$;

create or replace trigger before_change before insert or update or delete on memtui.memories
    for each row execute function memtui.before_change();
create or replace trigger tell after insert or update or delete on memtui.memories
    for each statement execute function memtui.tell();
create or replace trigger before_link before insert or update or delete on memtui.links
    for each row execute function memtui.before_link();

create index if not exists memories_newest on memtui.memories (updated desc, id);
create index if not exists memories_important on memtui.memories (importance, updated desc, id);
create index if not exists memories_changed on memtui.memories (changed);
create index if not exists memories_words on memtui.memories using gin (words);
create index if not exists memories_text on memtui.memories
    using gin ((title || E'\n' || content) gin_trgm_ops);
create index if not exists links_target on memtui.links (target);
create index if not exists versions_id on memtui.versions (id, number);
create index if not exists versions_changed on memtui.versions (changed);
create index if not exists versions_at on memtui.versions (at);

-- The planner must know how rare words are: with the default it reads the whole table for them.
alter table memtui.memories alter column words set statistics 10000;

grant select on memtui.memories, memtui.links, memtui.versions, memtui.members,
    memtui.schema_version to memtui_reader;
grant insert, update, delete on memtui.memories, memtui.links to memtui_writer;
grant insert, update, delete on memtui.members to memtui_owner;
