alter table "transactions" add column "approval" text;
