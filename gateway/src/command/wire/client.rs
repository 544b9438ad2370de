//! A client in the same process: it takes the same way through the wire as one outside.

use std::{io, sync::Arc};

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use rea_gateway::wire::{client, era::NEWEST_SESSION, hub::Hub, outlet::Writer, serve};

/// Bytes that may be on their way between us and the wire.
const ON_THE_WAY: usize = 64 * 1024;

/// A client of a hub.
pub(super) struct Client {
    hub: Arc<Hub>,
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    last: u64,
}

impl Client {
    /// Returns a client that has opened a session.
    pub(super) async fn open(hub: Arc<Hub>, writer: Writer) -> io::Result<Self> {
        let (near, far) = tokio::io::duplex(ON_THE_WAY);
        let (input, output) = tokio::io::split(far);
        tokio::spawn(writer.run(output));
        let reading = Arc::clone(&hub);
        tokio::spawn(async move { client::read(&reading, input).await });
        let (from, to) = tokio::io::split(near);
        let from = BufReader::new(from).lines();
        let mut client = Self {
            hub,
            to,
            from,
            last: 0,
        };
        let params = serde_json::json!({
            "protocolVersion": NEWEST_SESSION,
            "capabilities": {},
            "clientInfo": { "name": "rea", "version": env!("CARGO_PKG_VERSION") },
        });
        client.ask("initialize", &params.to_string()).await?;
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await?;
        Ok(client)
    }

    /// Sends a request and returns its whole answer. Everything else that arrives is passed over.
    pub(super) async fn ask(&mut self, method: &str, params: &str) -> io::Result<Value> {
        self.last += 1;
        let (id, method) = (self.last, Value::from(method));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        self.send(&line).await?;
        while let Some(line) = self.from.next_line().await? {
            let answer: Value = serde_json::from_str(&line)?;
            if answer.get("id").and_then(Value::as_u64) == Some(id)
                && answer.get("method").is_none()
            {
                return Ok(answer);
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    /// Ends the session and all servers.
    pub(super) async fn close(self) {
        serve::stop(&self.hub).await;
    }

    async fn send(&mut self, line: &str) -> io::Result<()> {
        self.to.write_all(line.as_bytes()).await?;
        self.to.write_all(b"\n").await
    }
}
