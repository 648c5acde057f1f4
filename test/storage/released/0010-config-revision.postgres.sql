alter table "instances" add column "config_revision" bigint;
drop table "configurations";
