alter table "transactions" add column "receiver" text;
create index "transactions_by_receiver" on "transactions" ("relayer_id", "receiver", "seq") where receiver is not null;
create table "transaction_receivers" ("relayer_id" text not null, "receiver" text not null, "transaction_seq" bigint not null, constraint "transaction_receivers_key" primary key ("relayer_id", "receiver", "transaction_seq"));
insert into transaction_receivers select relayer_id, lower(content::json ->> 'to'), seq from transactions where chain like 'evm:%' and content::json ->> 'to' is not null;
create index "transaction_receivers_of" on "transaction_receivers" ("transaction_seq");
