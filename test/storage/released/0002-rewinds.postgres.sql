alter table "instances" add column "timeline" integer;
alter table "instances" add column "is_synchronous" integer;
create table "removed_instances" ("number" integer not null primary key, "removed_at_ms" bigint not null);
alter table "database_ids" add column "origin" text;
alter table "database_ids" add column "rewound_at_ms" bigint;
alter table "database_ids" add column "rewind_evidence" text;
