create table "batches" ("number" integer not null, "batch" bigint not null, constraint "batches_key" primary key ("number", "batch"));
