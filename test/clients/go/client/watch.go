package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	relayer "example.com/relayer-client/v1"
	"example.com/relayer-client/v1/relayerv1connect"
)

// A watch of one library, protocol, codec and version of HTTP.
type watcher struct {
	name string
	// Opens a stream, and returns when its headers have arrived.
	open func(ctx context.Context, token string) (receive, error)
}

// Returns the next message of a stream.
type receive func() (*relayer.WatchTransactionsResponse, error)

// Watches in every combination while the connections are cut again and again; each watch goes on with its token.
func cutWatches(ctx context.Context) {
	target := os.Getenv("RELAYER_CUT_TARGET")
	watchers := append(connectWatchers(target), grpcWatcher(target))
	var opened sync.WaitGroup
	for _, each := range watchers {
		opened.Add(1)
		go each.follow(ctx, opened.Done)
	}
	opened.Wait()
	say(fmt.Sprintf("cut %d", len(watchers)))
	input := bufio.NewScanner(os.Stdin)
	require(input.Scan() && input.Text() == "end", "the input says %q", input.Text())
	done("cut watches")
}

func grpcWatcher(target string) watcher {
	c := dial(target, insecure.NewCredentials())
	return watcher{name: "grpc-go", open: func(ctx context.Context, token string) (receive, error) {
		stream, err := c.transactions.WatchTransactions(ctx, &relayer.WatchTransactionsRequest{RelayerId: c.relayerID, ResumeToken: absentIfEmpty(token)})
		if err != nil {
			return nil, err
		}
		_, err = stream.Header()
		return stream.Recv, err
	}}
}

// Every combination of connect-go.
func connectWatchers(target string) []watcher {
	http1 := &http.Client{}
	http2only := &http.Client{Transport: &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return net.Dial(network, address)
		},
	}}
	var watchers []watcher
	for protocol, option := range map[string]connect.ClientOption{"connect": nil, "grpc": connect.WithGRPC(), "grpc-web": connect.WithGRPCWeb()} {
		for codec, codecOption := range map[string]connect.ClientOption{"binary": nil, "json": connect.WithProtoJSON()} {
			for version, transport := range map[string]*http.Client{"http/1.1": http1, "h2c": http2only} {
				if protocol == "grpc" && version == "http/1.1" {
					continue // gRPC needs HTTP/2.
				}
				var options []connect.ClientOption
				for _, each := range []connect.ClientOption{option, codecOption} {
					if each != nil {
						options = append(options, each)
					}
				}
				client := relayerv1connect.NewTransactionServiceClient(transport, "http://"+target, options...)
				watchers = append(watchers, watcher{name: strings.Join([]string{protocol, codec, version}, "-"), open: connectOpen(client)})
			}
		}
	}
	return watchers
}

func connectOpen(client relayerv1connect.TransactionServiceClient) func(context.Context, string) (receive, error) {
	return func(ctx context.Context, token string) (receive, error) {
		ctx, info := connect.NewClientContext(ctx)
		info.RequestHeader().Set("Authorization", "Bearer "+os.Getenv("RELAYER_KEY"))
		stream, err := client.WatchTransactions(ctx, &relayer.WatchTransactionsRequest{RelayerId: os.Getenv("RELAYER_ID"), ResumeToken: absentIfEmpty(token)})
		if err != nil {
			return nil, err
		}
		return func() (*relayer.WatchTransactionsResponse, error) {
			if stream.Receive() {
				return stream.Msg(), nil
			}
			return nil, errors.Join(errors.New("the stream ended"), stream.Err())
		}, nil
	}
}

// Reads from stream after stream, each from the token of the last message on. Prints what it reads.
func (w watcher) follow(ctx context.Context, opened func()) {
	token := ""
	for first := true; ctx.Err() == nil; first = false {
		started := time.Now()
		stream, cancel := context.WithCancel(ctx)
		next, err := w.open(stream, token)
		if first && err == nil {
			fmt.Printf("headers of %s after %d ms\n", w.name, time.Since(started).Milliseconds())
		}
		for count := 0; err == nil; count++ {
			var message *relayer.WatchTransactionsResponse
			if message, err = next(); err != nil {
				break
			}
			if count == 0 {
				say("opened " + w.name)
			}
			if first && count == 0 {
				opened()
			}
			token = message.ResumeToken
			if t := message.GetTransaction(); t != nil {
				fmt.Printf("change %s %s %d %s\n", w.name, t.Id, t.Revision, t.Status)
			}
		}
		cancel()
		// No later try helps if the service refuses the token. Any other error is the end of this connection.
		refused := connect.CodeOf(err) == connect.CodeFailedPrecondition || status.Code(err) == codes.FailedPrecondition
		require(token != "" && !refused, "%s: %v", w.name, err)
		time.Sleep(10 * time.Millisecond)
	}
}
