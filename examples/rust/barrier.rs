//! A gate that one closes and opens for all, and a start and a finish for three at once.
//!
//!     cargo run -p zkrecipes --example barrier [zk1:2181]

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let barrier = client.barrier("/examples/maintenance")?;
    barrier.create().await?;
    let (waiting, others) = (barrier.clone(), client.clone());
    let round = tokio::spawn(async move {
        waiting.wait(None).await?;
        println!("the barrier has gone: three begin together");
        let runs = (1..=3).map(|n| runner(others.clone(), n));
        futures_util::future::try_join_all(runs).await
    });
    barrier.remove().await?;
    round.await.expect("no panic")?;

    client.close(None).await
}

/// One of three, each of which could be a process of its own.
async fn runner(client: Client, n: u32) -> Result<()> {
    let race = client.double_barrier("/examples/race", 3, None)?;
    race.run(async { println!("{n} runs") }).await
}
