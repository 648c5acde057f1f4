alter table "transactions" add column "tags" text;
create table "external_ids" ("relayer_id" text not null, "external_id" text not null, "transaction_id" text not null, constraint "external_ids_key" primary key ("relayer_id", "external_id"));
create table "transaction_labels" ("relayer_id" text not null, "label" text not null, "transaction_seq" bigint not null, constraint "transaction_labels_key" primary key ("relayer_id", "label", "transaction_seq"));
create index "transaction_labels_of" on "transaction_labels" ("transaction_seq");
create index "attempts_by_hash" on "attempts" ("hash");
