create table "spend_windows" ("relayer_id" text not null, "name" text not null, "version" text not null, "amounts" text not null, constraint "spend_windows_key" primary key ("relayer_id", "name"));
create table "spend_reservations" ("transaction_id" text not null, "reserved" text not null, constraint "spend_reservations_key" primary key ("transaction_id"));
