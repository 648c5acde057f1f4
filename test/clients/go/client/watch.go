package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/net/http2"

	relayer "example.com/relayer-client/v1"
	"example.com/relayer-client/v1/relayerv1connect"
)

// A watch of connect-go in one protocol, codec and version of HTTP.
type watcher struct {
	name   string
	client relayerv1connect.TransactionServiceClient
	// The latest revision seen of each transaction.
	revisions map[string]uint64
	mutex     sync.Mutex
}

// Watches in every combination while 200 transactions go through all their states; each watch is cut after 50 messages and goes on with its token.
func cutWatches(ctx context.Context) {
	http1 := &http.Client{}
	http2only := &http.Client{Transport: &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return net.Dial(network, address)
		},
	}}
	var watchers []*watcher
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
				client := relayerv1connect.NewTransactionServiceClient(transport, "http://"+os.Getenv("RELAYER_TARGET"), options...)
				watchers = append(watchers, &watcher{name: strings.Join([]string{protocol, codec, version}, " "), client: client, revisions: map[string]uint64{}})
			}
		}
	}
	var open sync.WaitGroup
	for _, each := range watchers {
		open.Add(1)
		go each.watch(ctx, open.Done)
	}
	open.Wait()
	say("traffic 200")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() && input.Text() != "end" {
		var id string
		var revision uint64
		_, err := fmt.Sscan(input.Text(), &id, &revision)
		check(err)
		for _, each := range watchers {
			each.await(ctx, id, revision)
		}
	}
	check(input.Err())
	done("cut watches")
}

func (w *watcher) watch(ctx context.Context, opened func()) {
	token := ""
	for first := true; ctx.Err() == nil; first = false {
		cut, cancel := context.WithCancel(ctx)
		started := time.Now()
		cut, info := connect.NewClientContext(cut)
		info.RequestHeader().Set("Authorization", "Bearer "+os.Getenv("RELAYER_KEY"))
		stream, err := w.client.WatchTransactions(cut, &relayer.WatchTransactionsRequest{RelayerId: os.Getenv("RELAYER_ID"), ResumeToken: absentIfEmpty(token)})
		check(err)
		if first {
			fmt.Printf("headers of %s after %d ms\n", w.name, time.Since(started).Milliseconds())
			opened()
		}
		for count := 0; count < 50 && stream.Receive(); count++ {
			message := stream.Msg()
			token = message.ResumeToken
			if t := message.GetTransaction(); t != nil {
				w.mutex.Lock()
				require(w.revisions[t.Id] <= t.Revision, "%s: %s goes back from revision %d to %d", w.name, t.Id, w.revisions[t.Id], t.Revision)
				w.revisions[t.Id] = t.Revision
				w.mutex.Unlock()
			}
		}
		cancel()
		stream.Close()
	}
}

// Waits until the watch has seen this revision.
func (w *watcher) await(ctx context.Context, id string, revision uint64) {
	for {
		w.mutex.Lock()
		seen := w.revisions[id]
		w.mutex.Unlock()
		if seen == revision {
			return
		}
		require(ctx.Err() == nil, "%s: %s is at revision %d, not %d", w.name, id, seen, revision)
		time.Sleep(10 * time.Millisecond)
	}
}
