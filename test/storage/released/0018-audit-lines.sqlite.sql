create table "audit_lines" ("id" text not null, "key_id" text, "relayer_id" text, "transaction_id" text, "method" text, "line" text not null, constraint "audit_lines_key" primary key ("id"));
create index "audit_lines_by_key" on "audit_lines" ("key_id", "id") where "key_id" is not null;
create index "audit_lines_by_relayer" on "audit_lines" ("relayer_id", "id") where "relayer_id" is not null;
create index "audit_lines_by_transaction" on "audit_lines" ("transaction_id", "id") where "transaction_id" is not null;
