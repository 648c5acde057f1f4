alter table "database_ids" add column "accepted_evidence" text;
