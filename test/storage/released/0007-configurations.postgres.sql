create table "configurations" ("hashes" text not null primary key, "number" integer not null);
