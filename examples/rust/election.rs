//! One of two candidates leads; when it resigns, the other one does.
//!
//!     cargo run -p zkrecipes --example election [zk1:2181]

use std::path::Path;

use zkrecipes::{Client, ElectionOptions, Error, Leadership, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    // Of all who stand the one with the highest priority leads.
    let best = ElectionOptions::default().priority(1);
    let one = client.election("/examples/leader", b"10.0.0.7:80", best)?;
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

    // Term after term, until it is cancelled, and only while it is healthy.
    let work = |leadership: Leadership| {
        println!("epoch {}: one leads again", leadership.epoch());
        one.cancel();
        async { Ok::<(), Error>(()) }
    };
    one.run_while_healthy(work, || Path::new("/").exists()).await?;

    client.close(None).await
}
