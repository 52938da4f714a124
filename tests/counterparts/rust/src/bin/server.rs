//! The server on rmcp: modern, and legacy with sessions for clients that initialize. With `--sessions` it is legacy alone.

#![allow(deprecated)] // Logging is deprecated as of 2026-07-28, and still part of it.

use std::{
    borrow::Cow,
    env, io,
    process::exit,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use axum::{Router, serve::ListenerExt};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::{NotificationContext, RequestContext, SubscriptionContext},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, from_str, from_value, json};
use tokio::{net::TcpListener, select, spawn, sync::broadcast, time::sleep};

/// Small, so that the catalogue takes several pages.
const PAGE_SIZE: usize = 5;

/// What all sessions and requests have in common.
struct Shared {
    tools: Mutex<Vec<Tool>>,
    /// Says that the tools have changed, to whoever listens in either era.
    changes: broadcast::Sender<()>,
    /// How many calls of `slow` were cancelled.
    cancelled: AtomicU64,
    legacy_alone: bool,
}

impl Shared {
    fn new(legacy_alone: bool) -> Self {
        let mut tools: Vec<Tool> = from_str(include_str!("../../../tools.json")).expect("tools.json holds tools");
        // Without a session there are no calls to count, and before the modern era no headers to mirror in.
        let left_out = if legacy_alone { "routed" } else { "counter" };
        tools.retain(|tool| tool.name != left_out);
        Self {
            tools: Mutex::new(tools),
            changes: broadcast::Sender::new(16),
            cancelled: AtomicU64::new(0),
            legacy_alone,
        }
    }

    fn tools(&self) -> MutexGuard<'_, Vec<Tool>> {
        self.tools.lock().expect("no holder panics")
    }
}

/// The SDK makes one for each legacy session, and one for each modern request.
struct Counterpart {
    shared: Arc<Shared>,
    /// How often `counter` was called.
    count: AtomicU64,
}

impl Counterpart {
    async fn slow(&self, args: &Value, context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
        let steps = args["steps"].as_u64().unwrap_or_default();
        let delay = Duration::from_millis(args["delay_ms"].as_u64().unwrap_or_default());
        // The SDK leaves it to the server to send no log lines that a modern client has not asked for.
        let modern = context.protocol_version().is_some_and(|version| !version.has_initialize());
        let logs = !modern || context.meta.log_level().is_some();
        for step in 1..=steps {
            select! {
                () = context.ct.cancelled() => {
                    self.shared.cancelled.fetch_add(1, Relaxed);
                    return Err(ErrorData::internal_error("cancelled", None));
                }
                () = sleep(delay) => {}
            }
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, step as f64)
                    .with_total(steps as f64)
                    .with_message(format!("step {step}"));
                let _ = context.peer.notify_progress(progress).await;
            }
            if logs {
                let line = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!({"step": step}));
                let _ = context.peer.notify_logging_message(line.with_logger("slow")).await;
            }
        }
        Ok(text(format!("{steps} steps")))
    }
}

impl ServerHandler for Counterpart {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_logging().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("counterpart-rust", "1.0.0"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let newest =
            if self.shared.legacy_alone { ProtocolVersion::LATEST_WITH_INITIALIZE } else { ProtocolVersion::LATEST };
        Cow::Borrowed(ProtocolVersion::known_up_to(&newest))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn on_initialized(&self, session: NotificationContext<RoleServer>) {
        let mut changes = self.shared.changes.subscribe();
        spawn(async move {
            while changes.recv().await.is_ok() {
                if session.peer.notify_tool_list_changed().await.is_err() {
                    return; // the session is over
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes.subscribe();
        loop {
            select! {
                () = subscription.cancelled() => return Ok(()),
                _ = changes.recv() => {
                    let _ = subscription.sink().notify_tool_list_changed().await;
                }
            }
        }
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = params.and_then(|params| params.cursor);
        let start = match cursor.as_deref().map(|cursor| cursor.trim_start_matches("from-").parse()) {
            None => 0,
            Some(Ok(start)) => start,
            Some(Err(_)) => return Err(ErrorData::invalid_params("no such cursor", None)),
        };
        let tools = self.shared.tools();
        let mut result = ListToolsResult::with_all_items(tools.iter().skip(start).take(PAGE_SIZE).cloned().collect());
        let end = start + PAGE_SIZE;
        result.next_cursor = (end < tools.len()).then(|| format!("from-{end}"));
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(params.arguments.unwrap_or_default());
        let string = |member: &str| args[member].as_str().unwrap_or_default().to_owned();
        let integer = |member: &str| args[member].as_i64().unwrap_or_default();
        let result = match &*params.name {
            "echo" => text(string("text")),
            "add" => {
                let sum = integer("a") + integer("b");
                structured(text(sum.to_string()), json!({"sum": sum}))
            }
            "fail" => CallToolResult::error(vec![ContentBlock::text(string("reason"))]),
            "slow" => self.slow(&args, &context).await?,
            "cancelled_count" => text(self.shared.cancelled.load(Relaxed).to_string()),
            "counter" => text((self.count.fetch_add(1, Relaxed) + 1).to_string()),
            "grow" => {
                let added = json!({
                    "name": args["name"], "description": "Added at run time.", "inputSchema": {"type": "object"}
                });
                self.shared.tools().push(from_value(added).expect("this is a tool"));
                let _ = self.shared.changes.send(());
                text(string("name"))
            }
            "shrink" => {
                self.shared.tools().retain(|tool| tool.name != string("name"));
                let _ = self.shared.changes.send(());
                text(string("name"))
            }
            "decorated" => decorated(),
            "routed" => structured(text(string("region")), args),
            name if self.get_tool(name).is_some() => text(name),
            name => return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
        };
        Ok(result.into())
    }
}

fn text(value: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(value)])
}

fn structured(mut result: CallToolResult, content: Value) -> CallToolResult {
    result.structured_content = Some(content);
    result
}

fn decorated() -> CallToolResult {
    let result = json!({
        "resultType": "complete",
        "content": [
            {
                "type": "text",
                "text": "one of each",
                "annotations": {"audience": ["user"], "priority": 0.5},
                "_meta": {"a": 1},
            },
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "demo://text", "mimeType": "text/plain", "text": "embedded"}},
            {"type": "resource_link", "name": "link", "uri": "demo://link", "description": "linked", "size": 3},
        ],
        "_meta": {"example.com/trace": "abc"},
    });
    from_value(result).expect("this is a result")
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let options: Vec<String> = env::args().collect();
    let port = options.iter().position(|option| option == "--port").map_or("0", |at| &options[at + 1]);
    let shared = Arc::new(Shared::new(options.iter().any(|option| option == "--sessions")));
    let service = StreamableHttpService::new(
        move || Ok(Counterpart { shared: shared.clone(), count: AtomicU64::new(0) }),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("{}", json!({"url": format!("http://{}/mcp", listener.local_addr()?)}));
    // Ends with standard input, so that no counterpart outlives its test run.
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        exit(0)
    });
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await
}
