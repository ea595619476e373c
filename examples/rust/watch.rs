//! Follows the children of a node, over reconnections and new sessions.
//!
//!     cargo run -p zkrecipes --example watch [zk1:2181]

use zkrecipes::{Client, CreateMode, NodeState, Result, WatchKind};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;
    let nodes = client.nodes();
    nodes.ensure("/examples/watched").await?;

    // The present state first, then every later one that is the latest.
    let mut states = nodes.watch("/examples/watched", WatchKind::Children)?;
    let mut told = 0;
    while let Some(state) = states.next().await.transpose()? {
        let NodeState::Children(names) = state else { continue };
        println!("there is {names:?}");
        told += 1;
        match told {
            1 => _ = nodes.create("/examples/watched/first", b"", CreateMode::Ephemeral).await?,
            2 => nodes.delete("/examples/watched/first", None).await?,
            _ => break,
        }
    }

    client.close(None).await
}
