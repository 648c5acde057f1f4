// Package webhooks verifies webhooks of the relayer service. Standard library only.
package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A webhook outside this window may be a recorded one.
const replayWindow = 5 * time.Minute

// Verify returns an error if a webhook is not genuine. signingKey is the notification's signing_key,
// body the exact bytes received: parse them only after this.
func Verify(signingKey string, headers http.Header, body []byte, now time.Time) error {
	id := headers.Get("webhook-id")
	timestamp := headers.Get("webhook-timestamp")
	signatures := headers.Get("webhook-signature")
	if id == "" || timestamp == "" || signatures == "" {
		return errors.New("not signed")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return errors.New("the timestamp is not a number")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > replayWindow || age < -replayWindow {
		return errors.New("outside the replay window")
	}

	secret := []byte(signingKey)
	if encoded, isEncoded := strings.CutPrefix(signingKey, "whsec_"); isEncoded {
		if secret, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return errors.New("the signing key is not base64")
		}
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	// During a key rotation there is one signature for each key. One match is enough.
	for _, entry := range strings.Split(signatures, " ") {
		encoded, isV1 := strings.CutPrefix(entry, "v1,")
		given, err := base64.StdEncoding.DecodeString(encoded)
		if isV1 && err == nil && hmac.Equal(given, expected) {
			return nil
		}
	}
	return errors.New("no signature matches")
}
