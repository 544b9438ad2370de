//! Passes every request of a client on to one server, as typed messages.

use rmcp::{
    ErrorData, RoleServer, Service, ServiceError, ServiceExt as _,
    model::{
        ClientNotification, ClientRequest, InitializeResult, ServerCapabilities, ServerConfig,
        ServerResult,
    },
    service::{NotificationContext, Peer, RequestContext, RoleClient},
    transport::{TokioChildProcess, io::stdio_pipes},
};
use tokio::process::Command;

use crate::Failure;

struct Proxy {
    server: Peer<RoleClient>,
}

pub async fn run(command: Command) -> Result<(), Failure> {
    let child = TokioChildProcess::new(command)?;
    let server = ().serve(child).await?;
    let proxy = Proxy {
        server: server.peer().clone(),
    };
    proxy.serve(stdio_pipes()).await?.waiting().await?;
    server.cancel().await?;
    Ok(())
}

impl Service<RoleServer> for Proxy {
    async fn handle_request(
        &self,
        request: ClientRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if let ClientRequest::InitializeRequest(_) = request {
            return Ok(ServerResult::InitializeResult(self.get_info()));
        }
        self.server
            .send_request(request)
            .await
            .map_err(|error| match error {
                ServiceError::McpError(error) => error,
                other => ErrorData::internal_error(other.to_string(), None),
            })
    }

    async fn handle_notification(
        &self,
        _notification: ClientNotification,
        _context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ServerConfig {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
    }
}
