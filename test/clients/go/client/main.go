// A team's client in Go: grpc-go, its own stubs, and Google's packages for error details.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	relayer "example.com/relayer-client/v1"
)

const receiver = "0x00000000000000000000000000000000000000A1"

// Retries what waiting helps; the service says with grpc-retry-pushback-ms how long to wait.
const retryPolicy = `{"methodConfig": [{
  "name": [{"service": "relayer.v1.RelayerService"}],
  "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`

// The key of every call, as a gRPC credential.
type bearer string

func (key bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(key)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

type client struct {
	relayerID    string
	transactions relayer.TransactionServiceClient
	signing      relayer.SigningServiceClient
	relayers     relayer.RelayerServiceClient
}

func dial(target string, transport credentials.TransportCredentials, more ...grpc.DialOption) client {
	options := append(more, grpc.WithTransportCredentials(transport), grpc.WithPerRPCCredentials(bearer(os.Getenv("RELAYER_KEY"))))
	connection, err := grpc.NewClient(target, options...)
	check(err)
	return client{
		relayerID:    os.Getenv("RELAYER_ID"),
		transactions: relayer.NewTransactionServiceClient(connection),
		signing:      relayer.NewSigningServiceClient(connection),
		relayers:     relayer.NewRelayerServiceClient(connection),
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := dial(os.Getenv("RELAYER_TARGET"), insecure.NewCredentials())

	stream := c.watch(ctx, "")
	token := c.untilSnapshot(stream)
	done("watch")
	sent := c.sendTwice(ctx)
	c.replace(ctx, sent)
	token = untilConfirmed(stream, sent, token)
	done("confirmed")
	c.list(ctx)
	c.sign(ctx)
	c.errors(ctx)
	c.deadline(ctx)
	overTLS(ctx)
	c.reconnect(ctx, stream, token)
	cutWatches(ctx)
}

func (c client) evm(value string) *relayer.EvmTransactionRequest {
	to := receiver
	return &relayer.EvmTransactionRequest{To: &to, Value: &value, Speed: relayer.Speed_SPEED_FAST}
}

func (c client) send(ctx context.Context, key, value string, options ...grpc.CallOption) string {
	response, err := c.transactions.SendTransaction(ctx, &relayer.SendTransactionRequest{
		RelayerId:      c.relayerID,
		IdempotencyKey: absentIfEmpty(key),
		Transaction:    &relayer.SendTransactionRequest_Evm{Evm: c.evm(value)},
	}, options...)
	check(err)
	return response.Transaction.Id
}

func (c client) sendTwice(ctx context.Context) string {
	var first, second metadata.MD
	key := "go-" + time.Now().Format(time.RFC3339Nano)
	id := c.send(ctx, key, "1000", grpc.Header(&first))
	again := c.send(ctx, key, "1000", grpc.Header(&second))
	require(id == again, "one key, two transactions: %s and %s", id, again)
	require(len(first.Get("idempotency-replayed")) == 0, "the first answer calls itself a replay")
	require(fmt.Sprint(second.Get("idempotency-replayed")) == "[true]", "the second answer does not say that it is a replay")
	done("send")
	return id
}

func (c client) replace(ctx context.Context, id string) {
	response, err := c.transactions.ReplaceTransaction(ctx, &relayer.ReplaceTransactionRequest{
		RelayerId:     c.relayerID,
		TransactionId: id,
		Transaction:   &relayer.ReplaceTransactionRequest_Evm{Evm: c.evm("2000")},
	})
	check(err)
	require(response.Transaction.GetEvm().Value == "2000", "the record has value %s", response.Transaction.GetEvm().Value)
	done("replace")
}

func (c client) watch(ctx context.Context, token string) grpc.ServerStreamingClient[relayer.WatchTransactionsResponse] {
	stream, err := c.transactions.WatchTransactions(ctx, &relayer.WatchTransactionsRequest{RelayerId: c.relayerID, ResumeToken: absentIfEmpty(token)})
	check(err)
	_, err = stream.Header()
	check(err)
	return stream
}

func (c client) untilSnapshot(stream grpc.ServerStreamingClient[relayer.WatchTransactionsResponse]) string {
	for {
		message, err := stream.Recv()
		check(err)
		if message.GetSnapshotComplete() != nil {
			return message.ResumeToken
		}
	}
}

func untilConfirmed(stream grpc.ServerStreamingClient[relayer.WatchTransactionsResponse], id, token string) string {
	say("mine")
	for {
		message, err := stream.Recv()
		check(err)
		if message.ResumeToken != "" {
			token = message.ResumeToken
		}
		if t := message.GetTransaction(); t != nil && t.Id == id && t.Status == relayer.TransactionStatus_TRANSACTION_STATUS_CONFIRMED {
			require(t.GetEvm().Value == "2000" || id != t.Id, "the chain has value %s", t.GetEvm().Value)
			return token
		}
	}
}

func (c client) list(ctx context.Context) {
	for i := range 4 {
		c.send(ctx, "", fmt.Sprint(3000+i))
	}
	seen := map[string]bool{}
	token := ""
	for pages := 0; pages == 0 || token != ""; pages++ {
		page, err := c.transactions.ListTransactions(ctx, &relayer.ListTransactionsRequest{
			RelayerId: c.relayerID, PageSize: proto(uint32(2)), PageToken: token, View: relayer.RecordView_RECORD_VIEW_BASIC,
		})
		check(err)
		for _, t := range page.Transactions {
			require(!seen[t.Id], "%s is on two pages", t.Id)
			seen[t.Id] = true
		}
		token = page.NextPageToken
	}
	require(len(seen) >= 5, "%d of 5 transactions are listed", len(seen))
	say("mine")
	done("list")
}

func (c client) sign(ctx context.Context) {
	response, err := c.signing.SignTypedData(ctx, &relayer.SignTypedDataRequest{
		RelayerId:         c.relayerID,
		DomainSeparator:   "0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f",
		HashStructMessage: "0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e",
	})
	check(err)
	require(len(response.Signature.Sig) == 130 && (response.Signature.V == 27 || response.Signature.V == 28), "signature %v", response.Signature)
	done("sign")
}

func (c client) errors(ctx context.Context) {
	bad := c.evm("1")
	*bad.To = "nowhere"
	_, err := c.transactions.SendTransaction(ctx, &relayer.SendTransactionRequest{
		RelayerId: c.relayerID, Transaction: &relayer.SendTransactionRequest_Evm{Evm: bad},
	})
	require(status.Code(err) == codes.InvalidArgument, "a bad receiver is %v", err)
	info, violations := detail[*errdetails.ErrorInfo](err), detail[*errdetails.BadRequest](err)
	require(info.Domain == "relayer.v1" && info.Reason != "", "ErrorInfo %v", info)
	require(violations.FieldViolations[0].Field == "evm.to", "violations %v", violations)

	_, err = c.transactions.GetTransaction(ctx, &relayer.GetTransactionRequest{RelayerId: c.relayerID, TransactionId: "none"})
	require(status.Code(err) == codes.NotFound, "an unknown transaction is %v", err)
	require(detail[*errdetails.ResourceInfo](err).ResourceName == "none", "ResourceInfo %v", detail[*errdetails.ResourceInfo](err))
	require(detail[*errdetails.RequestInfo](err).RequestId != "", "no request id")
	done("errors")
}

// A watch never ends by itself: only the deadline can end it.
func (c client) deadline(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	stream := c.watch(short, "")
	for {
		if _, err := stream.Recv(); err != nil {
			require(status.Code(err) == codes.DeadlineExceeded, "the deadline ends the watch with %v", err)
			break
		}
	}
	done("deadline")
}

// The second service has TLS and a small rate limit: every call succeeds since the client retries when it is told to.
func overTLS(ctx context.Context) {
	pem, err := os.ReadFile(os.Getenv("RELAYER_TLS_CA"))
	check(err)
	roots := x509.NewCertPool()
	require(roots.AppendCertsFromPEM(pem), "no certificate")
	c := dial(os.Getenv("RELAYER_TLS_TARGET"), credentials.NewTLS(&tls.Config{RootCAs: roots}), grpc.WithDefaultServiceConfig(retryPolicy))
	for range 12 {
		_, err := c.relayers.GetRelayer(ctx, &relayer.GetRelayerRequest{RelayerId: c.relayerID})
		check(err)
	}
	done("retry over TLS")
}

// The service stops, and starts again: the watch goes on where it ended, and misses nothing.
func (c client) reconnect(ctx context.Context, stream grpc.ServerStreamingClient[relayer.WatchTransactionsResponse], token string) {
	id := c.send(ctx, "", "2000")
	say("restart")
	for {
		message, err := stream.Recv()
		if err != nil {
			require(status.Code(err) == codes.Unavailable || err == io.EOF, "the stop ends the watch with %v", err)
			break
		}
		if message.ResumeToken != "" && message.GetTransaction().GetId() != id {
			token = message.ResumeToken
		}
	}
	resumed, err := c.transactions.WatchTransactions(ctx,
		&relayer.WatchTransactionsRequest{RelayerId: c.relayerID, ResumeToken: absentIfEmpty(token)}, grpc.WaitForReady(true))
	check(err)
	untilConfirmed(resumed, id, token)
	done("reconnect")
}

func detail[T any](err error) T {
	for _, any := range status.Convert(err).Details() {
		if found, ok := any.(T); ok {
			return found
		}
	}
	var none T
	log.Fatalf("no %T in %v", none, err)
	return none
}

func absentIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func proto[T any](value T) *T { return &value }

func say(word string) { fmt.Println(word) }

func done(step string) { fmt.Println("done " + step) }

func require(holds bool, format string, values ...any) {
	if !holds {
		log.Fatalf(format, values...)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
