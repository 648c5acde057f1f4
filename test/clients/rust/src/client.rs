//! A team's client in Rust: tonic, its own stubs, and tonic-types for error details.

mod relayer {
    tonic::include_proto!("relayer.v1");
}

use relayer::relayer_service_client::RelayerServiceClient;
use relayer::signing_service_client::SigningServiceClient;
use relayer::transaction_service_client::TransactionServiceClient;
use relayer::watch_transactions_response::Event;
use relayer::*;
use std::collections::HashSet;
use std::env;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tonic::metadata::MetadataValue;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_types::StatusExt;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type WithKey = InterceptedService<Channel, fn(Request<()>) -> Result<Request<()>, Status>>;
type Watch = Streaming<WatchTransactionsResponse>;

/// Adds the key to every call.
fn with_key(mut request: Request<()>) -> Result<Request<()>, Status> {
    let key = format!("Bearer {}", variable("RELAYER_KEY"));
    request.metadata_mut().insert("authorization", MetadataValue::try_from(key).expect("a key is visible ASCII"));
    Ok(request)
}

#[derive(Clone)]
struct Client {
    relayer_id: String,
    transactions: TransactionServiceClient<WithKey>,
    signing: SigningServiceClient<WithKey>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut client = Client::connect("RELAYER_TARGET").await?;
    let mut stream = client.watch(None).await?;
    let mut token = until_snapshot(&mut stream).await?;
    done("watch");
    let sent = client.send_twice().await?;
    client.replace(&sent).await?;
    until_confirmed(&mut stream, &sent, &mut token).await?;
    done("confirmed");
    client.list().await?;
    client.sign().await?;
    client.errors().await?;
    client.deadline().await?;
    over_tls().await?;
    client.reconnect(stream, token).await?;
    Client::cut_watches().await
}

fn evm(value: u32) -> EvmTransactionRequest {
    EvmTransactionRequest {
        to: Some("0x00000000000000000000000000000000000000A1".into()),
        value: Some(value.to_string()),
        speed: Speed::Fast.into(),
        ..Default::default()
    }
}

impl Client {
    /// Connects to the target that this variable of the environment names.
    async fn connect(target: &str) -> Result<Self, Failure> {
        let channel = Endpoint::from_shared(format!("http://{}", variable(target)))?.connect().await?;
        Ok(Self {
            relayer_id: variable("RELAYER_ID"),
            transactions: TransactionServiceClient::with_interceptor(channel.clone(), with_key),
            signing: SigningServiceClient::with_interceptor(channel, with_key),
        })
    }

    fn request(&self, key: Option<&str>, transaction: EvmTransactionRequest) -> SendTransactionRequest {
        SendTransactionRequest {
            relayer_id: self.relayer_id.clone(),
            idempotency_key: key.map(str::to_owned),
            transaction: Some(send_transaction_request::Transaction::Evm(transaction)),
        }
    }

    /// The id of the new transaction, and whether the answer says that it is a replay.
    async fn send(&mut self, key: Option<&str>, value: u32) -> Result<(String, bool), Failure> {
        let response = self.transactions.send_transaction(self.request(key, evm(value))).await?;
        let replayed = response.metadata().get("idempotency-replayed").is_some_and(|value| value == "true");
        Ok((response.into_inner().transaction.ok_or("no transaction")?.id, replayed))
    }

    async fn send_twice(&mut self) -> Result<String, Failure> {
        let key = format!("rust-{:?}", std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?);
        let (first, replayed) = self.send(Some(&key), 1000).await?;
        assert!(!replayed, "the first answer calls itself a replay");
        let (again, replayed) = self.send(Some(&key), 1000).await?;
        assert_eq!(first, again, "one key, two transactions");
        assert!(replayed, "the second answer does not say that it is a replay");
        done("send");
        Ok(first)
    }

    async fn replace(&mut self, id: &str) -> Result<(), Failure> {
        let request = ReplaceTransactionRequest {
            relayer_id: self.relayer_id.clone(),
            transaction_id: id.into(),
            transaction: Some(replace_transaction_request::Transaction::Evm(evm(2000))),
            ..Default::default()
        };
        let record = self.transactions.replace_transaction(request).await?.into_inner().transaction.ok_or("no transaction")?;
        assert_eq!(value(&record), Some("2000"));
        done("replace");
        Ok(())
    }

    /// Returns when the headers of the answer have arrived.
    async fn watch(&mut self, token: Option<&str>) -> Result<Watch, Status> {
        let request = WatchTransactionsRequest { relayer_id: self.relayer_id.clone(), resume_token: token.map(str::to_owned), ..Default::default() };
        self.transactions.watch_transactions(request).await.map(Response::into_inner)
    }

    async fn list(&mut self) -> Result<(), Failure> {
        for value in 3000..3004 {
            self.send(None, value).await?;
        }
        let mut seen = HashSet::new();
        let mut page_token = String::new();
        loop {
            let request = ListTransactionsRequest {
                relayer_id: self.relayer_id.clone(),
                page_size: Some(2),
                page_token,
                view: RecordView::Basic.into(),
                ..Default::default()
            };
            let page = self.transactions.list_transactions(request).await?.into_inner();
            for record in page.transactions {
                assert!(seen.insert(record.id.clone()), "{} is on two pages", record.id);
            }
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        assert!(seen.len() >= 5, "{} of 5 transactions are listed", seen.len());
        println!("mine");
        done("list");
        Ok(())
    }

    async fn sign(&mut self) -> Result<(), Failure> {
        let request = SignTypedDataRequest {
            relayer_id: self.relayer_id.clone(),
            domain_separator: "0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f".into(),
            hash_struct_message: "0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e".into(),
        };
        let signature = self.signing.sign_typed_data(request).await?.into_inner().signature.ok_or("no signature")?;
        assert!(signature.sig.len() == 130 && matches!(signature.v, 27 | 28), "{signature:?}");
        done("sign");
        Ok(())
    }

    async fn errors(&mut self) -> Result<(), Failure> {
        let bad = EvmTransactionRequest { to: Some("nowhere".into()), ..evm(1) };
        let invalid = self.transactions.send_transaction(self.request(None, bad)).await.expect_err("the receiver is bad");
        assert_eq!(invalid.code(), Code::InvalidArgument);
        let info = invalid.get_details_error_info().ok_or("no ErrorInfo")?;
        assert!(info.domain == "relayer.v1" && !info.reason.is_empty(), "{info:?}");
        let violations = invalid.get_details_bad_request().ok_or("no BadRequest")?.field_violations;
        assert_eq!(violations[0].field, "evm.to");

        let unknown = GetTransactionRequest { relayer_id: self.relayer_id.clone(), transaction_id: "none".into() };
        let missing = self.transactions.get_transaction(unknown).await.expect_err("there is no such transaction");
        assert_eq!(missing.code(), Code::NotFound);
        assert_eq!(missing.get_details_resource_info().ok_or("no ResourceInfo")?.resource_name, "none");
        assert!(!missing.get_details_request_info().ok_or("no RequestInfo")?.request_id.is_empty());
        done("errors");
        Ok(())
    }

    /// A watch never ends by itself: only the deadline can end it. tonic ends a stream's body by the `grpc-timeout` that the service obeys.
    async fn deadline(&mut self) -> Result<(), Failure> {
        let mut request = Request::new(WatchTransactionsRequest { relayer_id: self.relayer_id.clone(), ..Default::default() });
        request.set_timeout(Duration::from_millis(300));
        let mut stream = self.transactions.watch_transactions(request).await?.into_inner();
        let end = loop {
            if let Err(end) = stream.message().await {
                break end;
            }
        };
        assert_eq!(end.code(), Code::DeadlineExceeded, "{end:?}");
        done("deadline");
        Ok(())
    }

    /// The service stops, and starts again: the watch goes on where it ended, and misses nothing.
    async fn reconnect(&mut self, mut stream: Watch, mut token: String) -> Result<(), Failure> {
        let (id, _) = self.send(None, 2000).await?;
        println!("restart");
        let end = loop {
            match stream.message().await {
                Ok(Some(message)) if record(&message).is_none_or(|record| record.id != id) => token = message.resume_token,
                Ok(Some(_)) => {}
                Ok(None) => return Err("the watch ended without an error".into()),
                Err(end) => break end,
            }
        };
        assert_eq!(end.code(), Code::Unavailable, "{end:?}");
        // tonic has no wait-for-ready: until the service listens again, a call is UNAVAILABLE, or CANCELLED on a connection that is just closing.
        let mut resumed = loop {
            match self.watch(Some(&token)).await {
                Err(error) if matches!(error.code(), Code::Unavailable | Code::Cancelled) => sleep(Duration::from_millis(50)).await,
                other => break other?,
            }
        };
        until_confirmed(&mut resumed, &id, &mut token).await?;
        done("reconnect");
        Ok(())
    }

    /// The connection is cut again and again; the watch goes on with its token.
    async fn cut_watches() -> Result<(), Failure> {
        let mut client = Client::connect("RELAYER_CUT_TARGET").await?;
        let started = Instant::now();
        let stream = client.watch(None).await?;
        println!("headers of tonic after {} ms", started.elapsed().as_millis());
        let (opened, first_message) = oneshot::channel();
        let follower = tokio::spawn(follow(client, stream, opened));
        first_message.await?;
        println!("cut 1");
        let line = tokio::select! {
            line = read_line() => line?,
            ended = follower => return ended?,
        };
        assert_eq!(line.as_deref(), Some("end"));
        done("cut watches");
        Ok(())
    }
}

async fn read_line() -> Result<Option<String>, Failure> {
    Ok(BufReader::new(tokio::io::stdin()).lines().next_line().await?)
}

/// Reads from stream after stream, each from the token of the last message on. Prints what it reads. Ends only with an error.
async fn follow(mut client: Client, mut stream: Watch, opened: oneshot::Sender<()>) -> Result<(), Failure> {
    let mut opened = Some(opened);
    let mut token = String::new();
    loop {
        let mut count = 0;
        // An error is the end of this connection.
        while let Ok(Some(message)) = stream.message().await {
            if count == 0 {
                println!("opened tonic");
            }
            count += 1;
            if let Some(record) = record(&message) {
                println!("change tonic {} {} {}", record.id, record.revision, record.status().as_str_name());
            }
            token = message.resume_token;
            if let Some(opened) = opened.take() {
                let _ = opened.send(());
            }
        }
        stream = loop {
            match client.watch(Some(&token)).await {
                Ok(stream) => break stream,
                // No later try helps if the service refuses the token.
                Err(error) if error.code() == Code::FailedPrecondition => return Err(error.into()),
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        };
    }
}

/// The second service has TLS and a small rate limit: every call succeeds since the client retries when it is told to.
async fn over_tls() -> Result<(), Failure> {
    let ca = Certificate::from_pem(std::fs::read(variable("RELAYER_TLS_CA"))?);
    let channel = Endpoint::from_shared(format!("https://{}", variable("RELAYER_TLS_TARGET")))?
        .tls_config(ClientTlsConfig::new().ca_certificate(ca))?
        .connect()
        .await?;
    let relayers = RelayerServiceClient::with_interceptor(channel, with_key as fn(Request<()>) -> Result<Request<()>, Status>);
    for _ in 0..12 {
        retry(|| {
            let mut relayers = relayers.clone();
            async move { relayers.get_relayer(GetRelayerRequest { relayer_id: variable("RELAYER_ID") }).await }
        })
        .await?;
    }
    done("retry over TLS");
    Ok(())
}

/// Repeats a call as long as its error says how long to wait. tonic has no retry policy.
async fn retry<T, F: Future<Output = Result<T, Status>>>(mut call: impl FnMut() -> F) -> Result<T, Status> {
    let mut attempts = 1;
    loop {
        match call().await {
            Err(error) if attempts < 5 => match pushback(&error) {
                Some(wait) => sleep(wait).await,
                None => return Err(error),
            },
            other => return other,
        }
        attempts += 1;
    }
}

/// How long the service asks to wait. None if a retry cannot help.
fn pushback(error: &Status) -> Option<Duration> {
    let milliseconds = error.metadata().get("grpc-retry-pushback-ms")?.to_str().ok()?;
    milliseconds.parse().ok().map(Duration::from_millis)
}

async fn until_snapshot(stream: &mut Watch) -> Result<String, Failure> {
    loop {
        let message = stream.message().await?.ok_or("the watch ended")?;
        if matches!(message.event, Some(Event::SnapshotComplete(_))) {
            return Ok(message.resume_token);
        }
    }
}

async fn until_confirmed(stream: &mut Watch, id: &str, token: &mut String) -> Result<(), Failure> {
    println!("mine");
    loop {
        let message = stream.message().await?.ok_or("the watch ended")?;
        token.clone_from(&message.resume_token);
        if let Some(record) = record(&message).filter(|record| record.id == id && record.status() == TransactionStatus::Confirmed) {
            assert_eq!(value(record), Some("2000"));
            return Ok(());
        }
    }
}

fn record(message: &WatchTransactionsResponse) -> Option<&Transaction> {
    match &message.event {
        Some(Event::Transaction(record)) => Some(record),
        _ => None,
    }
}

fn value(record: &Transaction) -> Option<&str> {
    match &record.network {
        Some(transaction::Network::Evm(evm)) => Some(&evm.value),
        _ => None,
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn done(step: &str) {
    println!("done {step}");
}
