alter table "transactions" add column "delays" text;
