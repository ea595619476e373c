//! So many at once, several in one step.
//!
//!     cargo run -p zkrecipes --example semaphore [zk1:2181]

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let exports = client.semaphore("/examples/exports", 3)?;
    let held = exports.acquire(2).await?;
    println!(
        "{} of {} permits; holders: {}",
        held.permits(),
        exports.permits(),
        exports.holders().await?.len()
    );
    println!("two more at once: {:?}", exports.try_acquire(2).await?);
    held.release().await?;

    client.close(None).await
}
