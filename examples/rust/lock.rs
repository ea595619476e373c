//! One at a time: a lock, its fencing token, and a try while it is held.
//!
//!     cargo run -p zkrecipes --example lock [zk1:2181]

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let lock = client.lock("/examples/lock", Default::default())?;
    let held = lock.acquire().await?;
    println!("working, with fencing token {}", held.fencing_token());
    let other = client.lock("/examples/lock", Default::default())?;
    println!("a try while it is held gives {:?}", other.try_acquire().await?);
    held.release().await?;

    client.close(None).await
}
