alter table "api_keys" add column "allowed_addresses" text;
alter table "api_keys" add column "last_used_at_ms" bigint;
