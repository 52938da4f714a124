//! The client on rmcp speaks whichever era the server speaks; with `--legacy` it initializes without asking. It is driven by
//! the line protocol of ../../../README.md.

#![allow(deprecated)] // Logging is deprecated as of 2026-07-28, and still part of it.

use std::{
    collections::HashMap,
    env,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient,
    model::*,
    service::{ClientInitializeError, NotificationContext, PeerRequestOptions, RunningService, ServiceError},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::{Value, from_str, from_value, json, to_value};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    select, spawn,
    sync::{Mutex, oneshot},
};

fn say(id: u64, member: &str, value: Value) {
    println!("{}", json!({"id": id, member: value}));
}

fn event(id: u64, name: &str, params: Value) {
    println!("{}", json!({"id": id, "event": name, "params": params}));
}

/// Which request an event belongs to, by the `id` of its line.
#[derive(Default)]
struct Requests {
    connect: u64,
    /// 0: nobody listens.
    listen: AtomicU64,
    /// The SDK chooses progress tokens by itself.
    calls: Mutex<HashMap<ProgressToken, u64>>,
}

#[derive(Clone)]
struct Handler(Arc<Requests>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("counterpart-rust", "1.0.0"))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(id) = self.0.calls.lock().await.get(&params.progress_token) {
            let ProgressNotificationParam { progress, total, message, .. } = params;
            event(*id, "progress", json!({"progress": progress, "total": total, "message": message}));
        }
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        event(self.0.connect, "log", json!(params));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        match self.0.listen.load(Relaxed) {
            0 => {}
            id => event(id, "list_changed", json!({})),
        }
    }
}

/// Why a request failed, in the words of the line protocol.
struct Failure(Value);

impl Failure {
    fn new(kind: &str, message: impl ToString) -> Self {
        Self(json!({"exception": kind, "message": message.to_string()}))
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(ErrorData { code, message, data, .. }) => {
                Self(json!({"code": code, "message": message, "data": data}))
            }
            error => Self::new("ServiceError", error),
        }
    }
}

impl From<ClientInitializeError> for Failure {
    fn from(error: ClientInitializeError) -> Self {
        Self::new("ClientInitializeError", error)
    }
}

struct Connection {
    service: RunningService<RoleClient, Handler>,
    requests: Arc<Requests>,
    modern: bool,
}

impl Connection {
    async fn open(
        id: u64,
        url: &str,
        token: Option<&str>,
        lifecycle: ClientLifecycleMode,
    ) -> Result<(Self, Value), Failure> {
        let requests = Arc::new(Requests { connect: id, ..Requests::default() });
        let serve = |lifecycle| {
            let mut config = StreamableHttpClientTransportConfig::with_uri(url);
            config.auth_header = token.map(str::to_owned);
            let transport = StreamableHttpClientTransport::from_config(config);
            Handler(requests.clone()).serve_with_lifecycle(transport, lifecycle)
        };
        let service = match serve(lifecycle).await {
            // The SDK falls back by itself, but not from a server that tells its versions.
            Err(ClientInitializeError::NoCompatibleProtocolVersion { .. }) => {
                serve(ClientLifecycleMode::Initialize).await?
            }
            outcome => outcome?,
        };
        let server = service.peer_info().ok_or_else(|| Failure::new("PeerInfo", "nothing is known of the server"))?;
        let modern = !server.protocol_version.has_initialize();
        if !modern && server.capabilities.logging.is_some() {
            service.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await?;
        }
        let info = json!({
            "version": server.protocol_version,
            "serverInfo": server.server_info,
            "capabilities": server.capabilities,
        });
        Ok((Self { service, requests, modern }, info))
    }

    async fn list(&self) -> Result<Value, Failure> {
        let mut tools = Vec::new();
        let mut pages = 0;
        let mut cursor = None;
        loop {
            // Sent as a plain request, since `list_tools` may answer from its cache.
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let ServerResult::ListToolsResult(page) = self.service.send_request(request).await? else {
                return Err(Failure::new("ServerResult", "not a list of tools"));
            };
            tools.extend(page.tools);
            pages += 1;
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(json!({"tools": tools, "pages": pages}));
            }
        }
    }

    async fn call(&self, id: u64, line: &Value, cancelled: oneshot::Receiver<()>) -> Result<Value, Failure> {
        let arguments = from_value(line["arguments"].clone()).unwrap_or_default();
        let name = line["name"].as_str().unwrap_or_default().to_owned();
        let request = CallToolRequest::new(CallToolRequestParams::new(name).with_arguments(arguments));
        let mut meta = RequestMetaObject::default();
        if self.modern {
            meta.set_log_level(LoggingLevel::Info);
        }
        let options = PeerRequestOptions::no_options().with_meta(meta);
        // Held until the token is noted: progress that comes at once waits for it.
        let mut calls = self.requests.calls.lock().await;
        let mut handle = self.service.send_request_with_option(request.into(), options).await?;
        let token = handle.progress_token.clone();
        calls.insert(token.clone(), id);
        drop(calls);
        select! {
            Ok(()) = cancelled => {
                handle.cancel(Some("the test asked for it".to_owned())).await?;
                Err(Failure(json!({"cancelled": true})))
            }
            answer = &mut handle.rx => {
                let result = answer.map_err(|_| ServiceError::TransportClosed)??;
                Ok(to_value(result).expect("a result is JSON"))
            }
        }
    }

    async fn listen(&self, id: u64) -> Result<Value, Failure> {
        if !self.modern {
            self.requests.listen.store(id, Relaxed);
            return Ok(json!({}));
        }
        let wanted = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = self.service.listen(wanted).await?;
        let honoured = json!(subscription.acknowledged());
        spawn(async move {
            // Ends with the connection.
            while let Ok(Some(_)) = subscription.next().await {
                event(id, "list_changed", json!({}));
            }
        });
        Ok(honoured)
    }
}

/// The connection there is, and the calls that can be cancelled.
#[derive(Default)]
struct Session {
    connection: Mutex<Option<Arc<Connection>>>,
    calls: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

impl Session {
    async fn answer(&self, id: u64, line: &Value, lifecycle: ClientLifecycleMode) -> Result<Value, Failure> {
        let op = line["op"].as_str().unwrap_or_default();
        if op == "connect" {
            let url = line["url"].as_str().unwrap_or_default();
            let (connection, info) = Connection::open(id, url, line["token"].as_str(), lifecycle).await?;
            *self.connection.lock().await = Some(Arc::new(connection));
            return Ok(info);
        }
        let connection = self.connection.lock().await.clone();
        let connection = connection.ok_or_else(|| Failure::new("Session", "not connected"))?;
        match op {
            "list" => connection.list().await,
            "call" => {
                let (cancel, cancelled) = oneshot::channel();
                self.calls.lock().await.insert(id, cancel);
                let result = connection.call(id, line, cancelled).await;
                self.calls.lock().await.remove(&id);
                result
            }
            "cancel" => {
                let call = line["request"].as_u64().unwrap_or_default();
                if let Some(cancel) = self.calls.lock().await.remove(&call) {
                    let _ = cancel.send(());
                }
                Ok(json!({}))
            }
            "listen" => connection.listen(id).await,
            "close" => {
                *self.connection.lock().await = None;
                connection.service.cancellation_token().cancel();
                Ok(json!({}))
            }
            _ => Err(Failure::new("Session", format!("unknown request: {op}"))),
        }
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let lifecycle = if env::args().any(|option| option == "--legacy") {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None }
    };
    let session = Arc::new(Session::default());
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let line: Value = from_str(&line).expect("each line is a JSON object");
        let id = line["id"].as_u64().unwrap_or_default();
        let (session, lifecycle) = (session.clone(), lifecycle.clone());
        spawn(async move {
            match session.answer(id, &line, lifecycle).await {
                Ok(result) => say(id, "result", result),
                Err(Failure(error)) => say(id, "error", error),
            }
        });
    }
    Ok(())
}
