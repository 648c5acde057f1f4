alter table "api_keys" add column "former_secrets" text;
alter table "api_keys" add column "adopted_by" text;
