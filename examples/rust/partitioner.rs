//! Regions that are copied by whoever is there: start it several times, and stop one.
//!
//!     cargo run -p zkrecipes --example partitioner [zk1:2181]

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use zkrecipes::{Client, Partition, Result};

/// Works on one region until it is to move.
async fn copy(partition: Partition, begun: Arc<Notify>) -> Result<()> {
    println!("copying {} with token {}", partition.name(), partition.fencing_token());
    begun.notify_one();
    let (moves, asked) = tokio::sync::oneshot::channel::<()>();
    let _asks = partition.on_revoke(move || drop(moves));
    let _ = asked.await;
    println!("{} is to move", partition.name());
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let regions = client.partitioner("/examples/regions", ["eu", "us", "asia"], Default::default())?;
    let (leaving, begun) = (regions.clone(), Arc::new(Notify::new()));
    let has_begun = begun.clone();
    tokio::spawn(async move {
        // A service leaves when it is told to stop. This one leaves a second after it has got something to do.
        has_begun.notified().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        leaving.leave().await
    });
    regions.run(move |partition| copy(partition, begun.clone())).await?;

    client.close(None).await
}
