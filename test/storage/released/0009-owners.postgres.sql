alter table "notifications" add column "relayer_ids" text;
alter table "api_keys" add column "created_by" text;
