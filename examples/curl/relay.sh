#!/usr/bin/env bash
# Sends, replaces and watches a transaction, signs typed data, and tests a webhook, with curl. Run it against `npm start`:
#
#   URL=http://127.0.0.1:8080 TOKEN=... examples/curl/relay.sh
set -euo pipefail

API="${URL:-http://127.0.0.1:8080}"
API="${API%/api/v1}/api/v1"
RELAYER="${RELAYER:-sandbox}"

call() { # verb, path, body
  curl --silent --show-error --fail-with-body -X "$1" -H "Authorization: Bearer ${TOKEN:-}" \
    ${3:+-H 'Content-Type: application/json' -d "$3"} "$API$2"
}
field() { # the first string with this key; use jq in a real script
  grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4
}

to=0x70997970C51812dc3A010C7d01b50e0d17dc79C8
id=$(call POST "/relayers/$RELAYER/transactions" "{\"to\":\"$to\",\"value\":1000000000000000001}" | field id)
echo "sent $id"

call PUT "/relayers/$RELAYER/transactions/$id" "{\"to\":\"$to\",\"value\":2}" >/dev/null
echo 'replaced'

# The stream ends when the transaction is final.
status=$(call GET "/relayers/$RELAYER/transactions/watch?transaction_id=$id" | tail -n 4 | field status)
echo "is $status"

signature=$(call POST "/relayers/$RELAYER/sign-typed-data" '{
  "domain_separator": "0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f",
  "hash_struct_message": "0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e"
}' | field sig)
echo "signed $signature"

# The sandbox's receiver prints each webhook and whether its signature is valid.
call POST /notifications/sandbox-webhook/test >/dev/null
until delivery=$(call GET '/notifications/sandbox-webhook/deliveries?per_page=1') && [ "$(field status <<<"$delivery")" = delivered ]; do
  sleep 1
done
echo "webhook $(field event <<<"$delivery"): delivered"
