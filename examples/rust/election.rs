//! One of two candidates leads; when it resigns, the other one does.
//!
//!     cargo run -p zkrecipes --example election [zk1:2181]

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let one = client.election("/examples/leader", b"10.0.0.7:80", Default::default())?;
    let two = client.election("/examples/leader", b"10.0.0.8:80", Default::default())?;
    let leadership = one.campaign().await?;
    // Others see that the leader has loaded what it needs.
    leadership.acknowledge(b"10.0.0.7:80, ready").await?;
    let leader = one.leader().await?.expect("it is one");
    println!("epoch {}: {}", leader.epoch, String::from_utf8_lossy(&leader.data));

    let next = tokio::spawn(two.campaign());
    one.resign().await?;
    let leadership = next.await.expect("no panic")?;
    println!("epoch {}: two leads", leadership.epoch());
    leadership.release().await?;

    client.close(None).await
}
