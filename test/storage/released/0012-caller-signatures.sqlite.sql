create table "caller_signatures" ("hash" text not null, "transaction_id" text, constraint "caller_signatures_key" primary key ("hash"));
