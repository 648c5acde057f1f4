insert into transactions (ordinal, id, relayer_id, chain, account, status, intent, content, nonce, live_version, created_at_ms, updated_at_ms, sent_at_ms, revision, position)
  values (1, 'sent', 'relayer-1', 'evm:31337', '0xA', 'sent', 'content',
    '{"network":"evm","to":null,"valueWei":{"$int":"5"},"data":"0x00","gasLimit":null,"pricing":{"kind":"speed","speed":"fast"}}',
    '7', 1, 1763600000000, 1763600000001, 1763600000001, 2, 1);
insert into transactions (ordinal, id, relayer_id, chain, account, status, status_reason, intent, content, created_at_ms, updated_at_ms, ended_at_ms, revision, position, receiver, approval)
  values (2, 'failed', 'relayer-1', 'evm:31337', '0xA', 'failed', 'execution reverted', 'content',
    '{"network":"evm","to":null,"valueWei":{"$int":"5"},"data":"0x00","gasLimit":null,"pricing":{"kind":"speed","speed":"fast"}}',
    1763600000000, 1763600000002, 1763600000002, 3, 2, '0xc',
    '{"ruleId":"large","required":1,"senders":["shop"],"given":[{"apiKeyId":"boss","atMs":1763600000001}],"rejected":null,"expiresAtMs":1763686400000}');
insert into change_positions values ('relayer-1', 2, 0);
insert into removed_positions values ('relayer-2', 1);
insert into finished_totals values ('relayer-1', 'failed', 3, 1);
insert into attempts (transaction_id, version, chain, account, nonce, purpose, hash, raw, fields, created_at_ms)
  values ('sent', 1, 'evm:31337', '0xA', '7', 'content', '0x01', '0x02', '{"network":"evm","gasLimit":{"$int":"21000"},"publishingFeeWei":{"$int":"0"}}', 1763600000001);
insert into lane_nonces values ('evm:31337', '0xA', 5, '8');
insert into chains values ('evm:31337', '0xaa');
insert into notifications (id, type, url, sealed_signing_key, retired_keys, created_at_ms, revision)
  values ('hook', 'webhook', 'https://example.com/hook', 'v1.abc', '[]', 1763600000000, 1);
insert into events (id, notification_id, event, order_key, body, status, attempts, next_attempt_at_ms, created_at_ms, waits_behind)
  values ('event', 'hook', 'transaction_update', 'sent', '{"id":"event"}', 'pending', 1, 1763600000000, 1763600000000, 0);
insert into delivery_attempts (event_id, attempted_at_ms, duration_ms, http_status, response_body) values ('event', 1763600000000, 12, 500, 'why');
insert into stored_responses (key_id, method, idempotency_key, fingerprint, response, expires_at_ms)
  values ('bootstrap', '/relayer.v1.TransactionService/SendTransaction', 'one', 'abab', 'AQID', 9000000000000);
insert into api_keys (id, name, scopes, relayer_ids, digest, created_at_ms, former_secrets) values ('key', 'shop', '["transactions:read"]', '[]', 'abab', 1763600000000, '[]');
insert into definitions (kind, id, content, sealed) values ('relayer', 'main', '{"name":"main","cap":{"$int":"9007199254740993"}}', 'v1.abc');
insert into database_secret values (1, 'v1.abc');
insert into file_entries values ('notification', 'hook', 1);
insert into instances (number, host, pid, token, since_ms, checked_at_ms, confirmed_time_ms, batch)
  values (1, 'host-1', 1, 'token-1', 1763600000000, 1763600000000, 1763600000000, 'batch-1');
insert into leases values ('lane', 'evm:31337/0xA', null, null);
insert into database_ids (number, id, definitions_version) values (1, 'database-1', 3);
insert into removed_instances values (5, 1763600000000);
insert into batches values (5, 7);
insert into external_ids values ('relayer-1', 'order-1', 'sent');
insert into transaction_labels values ('relayer-1', 'customer:42', 1);
insert into transaction_receivers values ('relayer-1', '0xb', 1);
insert into caller_signatures values ('0xaa', null), ('0xbb', 'tx-1');
insert into spend_windows values ('relayer-1', 'payouts native 3600000', 'version-1', '{"window_ms":3600000,"open":"5","spent":[[489889,"7"]]}');
insert into spend_reservations values ('sent', '[["payouts native 3600000","5"]]');
insert into audit_lines values ('019a9f3c54020123456789abcdef00000000020000', 'engine', 'relayer-1', 'sent', null, '{"level":"audit"}'), ('019a9f3c54020123456789abcdef00000000020001', 'engine', 'relayer-1', 'failed', null, '');
